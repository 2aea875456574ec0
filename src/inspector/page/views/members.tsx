import type { ComponentChildren } from 'preact'
import { KeyValue, Time } from '../components.js'
import { Name } from '../name.js'
import { linkTo } from '../router.js'

/** Words of a name: `dead_letter` and `recipientUserId` become `dead letter` and `recipient user id`. */
export const wordsOf = (name: string) => name.replace(/_|(?=[A-Z])/g, ' ').toLowerCase()

/** Members that are ids of records with a name. */
export const kinds: Readonly<Record<string, 'application' | 'bot' | 'template'>> = {
  application_id: 'application',
  applicationId: 'application',
  bot_id: 'bot',
  botId: 'bot',
  template_id: 'template',
  templateId: 'template',
}

interface MembersProps {
  readonly of: object
  readonly names: readonly string[]
  /** Members that link within the page: the path, and the query member if the target is a list. */
  readonly links?: Readonly<Record<string, readonly [path: string, query?: string]>>
}

/** Selected members of a record; omits members without a value. */
export function Members({ of, names, links = {} }: MembersProps) {
  const shown = (name: string): ComponentChildren => {
    const value = (of as Readonly<Record<string, unknown>>)[name]
    if (!value) return null
    const text = String(value)
    const [path, query] = links[name] ?? []
    const to = query && path ? linkTo([path], { [query]: text }) : undefined
    const kind = kinds[name]
    if (kind) return <Name kind={kind} id={text} {...(to === undefined ? {} : { to })} />
    if (path) return <a href={query ? linkTo([path], { [query]: text }) : linkTo([path, text])}>{text}</a>
    return /^\d{4}-\d\d-\d\dT/.test(text) ? <Time at={text} /> : text
  }
  return <KeyValue items={names.map((name) => [wordsOf(name), shown(name)])} />
}
