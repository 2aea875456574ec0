import type { ComponentChildren } from 'preact'
import type { Validity } from '../../../contract/templates.js'
import { KeyValue, Time } from '../components.js'
import { count, dateTime } from '../model/format.js'
import { Name } from '../name.js'
import { kinds, wordsOf } from './members.js'

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
  const kind = kinds[name]
  if (kind) return <Name kind={kind} id={String(value)} />
  if (typeof value === 'number') return count(value)
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
