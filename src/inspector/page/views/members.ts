import { KeyValue, Time } from '../components.js'
import { type Children, html } from '../html.js'
import { linkTo } from '../router.js'

/** Words of a name: `dead_letter` and `recipientUserId` become `dead letter` and `recipient user id`. */
export const wordsOf = (name: string) => name.replace(/_|(?=[A-Z])/g, ' ').toLowerCase()

interface MembersProps {
  readonly of: object
  readonly names: readonly string[]
  /** Members that link to a place of the page: its path, and the member of its query if it is a list. */
  readonly links?: Readonly<Record<string, readonly [path: string, query?: string]>>
}

/** Members of a record by their names; those without a value are left out. */
export function Members({ of, names, links = {} }: MembersProps) {
  const shown = (name: string): Children => {
    const value = (of as Readonly<Record<string, unknown>>)[name]
    if (!value) return null
    const text = String(value)
    const [path, query] = links[name] ?? []
    if (path) return html`<a href=${query ? linkTo([path], { [query]: text }) : linkTo([path, text])}>${text}</a>`
    return /^\d{4}-\d\d-\d\dT/.test(text) ? html`<${Time} at=${text} />` : text
  }
  return html`<${KeyValue} items=${names.map((name) => [wordsOf(name), shown(name)])} />`
}
