import { recordKinds } from '../../../contract/record-kinds.js'

const own = ['templates', 'vouchers', 'bots', 'chats', 'deliveries', 'requests'] as const

/** Lists with the views of records, by the prefixes of their ids; an application has the stream. */
const lists: ReadonlyMap<string, string> = new Map([
  ...own.map((kind) => [recordKinds[kind].prefix, kind] as const),
  [recordKinds.redemptions.prefix, 'vouchers'],
  [recordKinds.apps.prefix, ''],
])

/** An id with its ULID (rules/calls.md#ids). */
const ID = new RegExp(`\\b((?:${[...lists.keys()].join('|')})_[0-7][0-9A-HJKMNP-TV-Z]{25})\\b`)

/** Maximum links in a text: a body can consist of ids. */
export const LINKS_MAX = 200

/** Splits a text at its ids; each odd part is an id. */
export function idParts(text: string, most = LINKS_MAX): string[] {
  const parts = text.split(ID)
  return parts.length > 2 * most + 1 ? [...parts.slice(0, 2 * most), parts.slice(2 * most).join('')] : parts
}

/** List with the view of the record that has an id; empty for an application, undefined for other texts. */
export const listOfId = (id: string): string | undefined => lists.get(id.slice(0, id.indexOf('_')))
