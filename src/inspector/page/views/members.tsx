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
  /** Members to show; by default every one, so that nobody decides on a value unseen. */
  readonly names?: readonly string[]
  /** Members that the view shows elsewhere. */
  readonly except?: readonly string[]
  /** Members that link to a list, with the filter of it. */
  readonly links?: Readonly<Record<string, readonly [list: string, filter: string]>>
}

/** Members of a record that have a value. */
export function Members({ of, names = Object.keys(of), except = [], links = {} }: MembersProps) {
  const values = of as Readonly<Record<string, unknown>>
  const shown = (name: string): ComponentChildren => {
    const [list, filter = ''] = links[name] ?? []
    const value = values[name]
    return list && value ? <a href={linkTo([list], { [filter]: `${value}` })}>{`${value}`}</a> : valueOf(name, value)
  }
  return <KeyValue items={names.filter((it) => !except.includes(it)).map((name) => [wordsOf(name), shown(name)])} />
}

function valueOf(name: string, value: unknown): ComponentChildren {
  if (value === null || value === undefined || value === '') return null
  if (name === 'validity') return validityOf(value as Validity)
  if (named.test(name)) return <Name id={String(value)} />
  if (typeof value === 'number' && name !== 'update_id') return count(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.join(', ') || null
  if (typeof value === 'object') return Object.keys(value).length > 0 ? <code>{JSON.stringify(value)}</code> : null
  const text = String(value)
  return /^\d{4}-\d\d-\d\dT/.test(text) ? <Time at={text} /> : text
}

function validityOf(validity: Validity): string {
  if (validity.type === 'fixed') return `from ${dateTime(validity.startsAt)} until ${dateTime(validity.endsAt)}`
  const { durationDays, delayDays, notAfter } = validity
  const delay = delayDays > 0 ? `, beginning ${delayDays} days after the issue` : ' from the issue'
  return `${durationDays} days${delay}${notAfter ? `, not after ${dateTime(notAfter)}` : ''}`
}
