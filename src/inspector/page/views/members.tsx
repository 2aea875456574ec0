import type { ComponentChildren } from 'preact'
import type { Validity } from '../../../contract/templates.js'
import { KeyValue, Time } from '../components.js'
import { count, dateTime } from '../model/format.js'
import { Name } from '../name.js'
import { linkTo } from '../router.js'

/** Words of a name: `dead_letter` and `recipientUserId` become `dead letter` and `recipient user id`. */
export const wordsOf = (name: string) => name.replace(/_|(?=[A-Z])/g, ' ').toLowerCase()

/** Members that are ids of records with a name. */
const named = /^(application|bot|template)(_id|Id)$/

interface MembersProps {
  readonly of: object
  readonly names: readonly string[]
  /** Members that link to a list, with the filter of it. */
  readonly links?: Readonly<Record<string, readonly [list: string, filter: string]>>
}

/** Selected members of a record; omits members without a value. */
export function Members({ of, names, links = {} }: MembersProps) {
  const shown = (name: string): ComponentChildren => {
    const value = (of as Readonly<Record<string, unknown>>)[name]
    if (!value) return null
    const text = String(value)
    const [list, filter = ''] = links[name] ?? []
    if (named.test(name)) return <Name id={text} />
    return list ? <a href={linkTo([list], { [filter]: text })}>{text}</a> : timeOr(text)
  }
  return <KeyValue items={names.map((name) => [wordsOf(name), shown(name)])} />
}

interface AllMembersProps {
  readonly of: object
  /** Members that the view shows elsewhere. */
  readonly except?: readonly string[]
}

/** Every member of a record with a value, so that nobody decides on a value unseen. */
export function AllMembers({ of, except = [] }: AllMembersProps) {
  const shown = Object.entries(of).filter(([name]) => !except.includes(name))
  return <KeyValue items={shown.map(([name, value]) => [wordsOf(name), valueOf(name, value)])} />
}

function valueOf(name: string, value: unknown): ComponentChildren {
  if (value === null || value === undefined || value === '') return null
  if (name === 'validity') return validityOf(value as Validity)
  if (named.test(name)) return <Name id={String(value)} />
  if (typeof value === 'number') return count(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.join(', ') || null
  if (typeof value === 'object') return Object.keys(value).length > 0 ? <code>{JSON.stringify(value)}</code> : null
  return timeOr(String(value))
}

const timeOr = (text: string) => (/^\d{4}-\d\d-\d\dT/.test(text) ? <Time at={text} /> : text)

function validityOf(validity: Validity): string {
  if (validity.type === 'fixed') return `from ${dateTime(validity.startsAt)} until ${dateTime(validity.endsAt)}`
  const { durationDays, delayDays, notAfter } = validity
  const delay = delayDays > 0 ? `, beginning ${delayDays} days after the issue` : ' from the issue'
  return `${durationDays} days${delay}${notAfter ? `, not after ${dateTime(notAfter)}` : ''}`
}
