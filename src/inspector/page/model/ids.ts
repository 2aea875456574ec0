import { type RecordKind, recordKinds } from '../../../contract/record-kinds.js'

/** Kinds of records whose ids are links, with the list that has their view. */
const lists = {
  apps: '',
  templates: 'templates',
  vouchers: 'vouchers',
  redemptions: 'vouchers',
  bots: 'bots',
  chats: 'chats',
  deliveries: 'deliveries',
  requests: 'requests',
} as const satisfies Partial<Record<RecordKind, string>>

const byPrefix: ReadonlyMap<string, string> = new Map(
  Object.entries(lists).map(([kind, list]) => [recordKinds[kind as RecordKind].prefix, list]),
)

/** An id with its ULID (rules/calls.md#ids). */
const ID = new RegExp(`\\b((?:${[...byPrefix.keys()].join('|')})_[0-7][0-9A-HJKMNP-TV-Z]{25})\\b`)

/** Maximum links in a text: a body can consist of ids. */
export const LINKS_MAX = 200

/** Splits a text at its ids; each odd part is an id. */
export function idParts(text: string, most = LINKS_MAX): string[] {
  const parts = text.split(ID)
  return parts.length > 2 * most + 1 ? [...parts.slice(0, 2 * most), parts.slice(2 * most).join('')] : parts
}

/** List with the view of the record that has an id; empty for an application, undefined for other texts. */
export const listOfId = (id: string): string | undefined => byPrefix.get(id.slice(0, id.indexOf('_')))
