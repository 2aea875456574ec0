import {
  DELIVERIES,
  deliveryFaults,
  type FaultKind,
  type FaultMatch,
  faultKinds,
  faultTable,
  type HoldPlace,
  type NewFault,
  waitingFaults,
} from '../../../contract/platform/fault-kinds.js'
import { faultSentence } from '../../../contract/platform/fault-sentence.js'
import type { UpdateType } from '../../../contract/updates.js'
import { objectIn } from './json-text.js'

/** Texts of the form's fields by name. */
export type FaultFields = Readonly<Record<string, string>>

const isOfDeliveries = (kind: FaultKind) => deliveryFaults.includes(kind)

/** Kinds that the chosen target can have. */
export const kindsFor = ({ endpoint }: FaultFields): readonly FaultKind[] =>
  faultKinds.filter((it) => isOfDeliveries(it) === (endpoint === DELIVERIES))

/** The chosen kind, or the first one of a target that cannot have it. */
export const kindOf = (fields: FaultFields): FaultKind =>
  kindsFor(fields).find((it) => it === fields.kind) ?? (kindsFor(fields)[0] as FaultKind)

/** Fields that only some kinds have. */
const fieldsOfSome: readonly (readonly [names: readonly string[], isOf: (kind: FaultKind) => boolean])[] = [
  [['status', 'code', 'retry_after'], (kind) => kind === 'status'],
  [['at'], (kind) => kind === 'hold'],
  [['hold_ms'], (kind) => waitingFaults.includes(kind)],
  [['delay_ms', 'path'], (kind) => !isOfDeliveries(kind)],
  [['bot', 'type'], isOfDeliveries],
]

export const hasField = (kind: FaultKind, name: string): boolean =>
  fieldsOfSome.every(([names, isOf]) => !names.includes(name) || isOf(kind))

/** Returns the fault of the form's fields, or the field that cannot be read with the reason as a sentence. The server checks the rest. */
export function faultOf(fields: FaultFields): NewFault | { readonly field: string; readonly reason: string } {
  const kind = kindOf(fields)
  const typed = Object.entries(fields).flatMap(([name, text]) =>
    text.trim() && hasField(kind, name) ? [[name, text.trim()] as const] : [],
  )
  const { endpoint = '', kind: _kind, path, bot, type, body, code, at, share, ...numbers } = Object.fromEntries(typed)
  const members = body === undefined ? undefined : objectIn(body)
  if (members === null)
    return { field: 'body', reason: 'The body to match is a JSON object, such as {"reference":"till-4"}.' }
  const percent = Number(share ?? 100)
  if (!(percent > 0 && percent <= 100))
    return { field: 'share', reason: 'A share is a percentage above 0, at most 100, such as 5.' }
  const match: FaultMatch = {
    ...(path && { path }),
    ...(bot && { bot }),
    ...(type && { type: type as UpdateType }),
    ...(members && { body: members }),
  }
  return {
    endpoint,
    kind,
    // Only the default status has a default Retry-After.
    ...(numbers.status ? {} : faultTable[kind][3]),
    ...Object.fromEntries(Object.entries(numbers).map(([name, text]) => [name, Number(text)])),
    ...(share && { share: percent / 100 }),
    ...(code && { code }),
    ...(at && { at: at as HoldPlace }),
    ...(Object.keys(match).length > 0 && { match }),
  }
}

/** Says what the fault will do, in the words of the list of faults. */
export function previewOf({ match, ...fault }: NewFault): string {
  const { share = null, delay_ms = null, times = share === null ? 1 : null } = fault
  return faultSentence({ ...fault, ...(match && { match: {} }), share, delay_ms, times, left: times })
}
