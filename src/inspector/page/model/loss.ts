import { dateTime, plural, relative } from './format.js'

/** Lists of the operator API, with the member of their items that has the time of creation. */
export const kinds = {
  vouchers: 'issuedAt',
  templates: 'createdAt',
  applications: 'createdAt',
  bots: 'created_at',
  chats: 'created_at',
  deliveries: 'created_at',
} as const
export type Kind = keyof typeof kinds

/** Newest items of each list to read: beyond it the number of new ones is a minimum. */
export const ITEMS_MAX = 100

/** Number of items that were made after an instant. */
export const madeSince = (kind: Kind, items: readonly Readonly<Record<string, unknown>>[], since: string): number =>
  items.filter((it) => String(it[kinds[kind]]) > since).length

/** Lists what there is, such as `9 vouchers, 1 chat`; without counts of 0. @param limit count that is a minimum */
export function listOf(counts: Readonly<Record<string, number>>, limit?: number): string {
  const shown = Object.entries(counts).filter(([, count]) => count > 0)
  return shown.map(([kind, it]) => `${plural(it, kind)}${it === limit ? ' or more' : ''}`).join(', ') || 'nothing'
}

/** Says how the clock moves. @param to instant after the change @param now of the server in ms */
export function clockSentence(to: string, now: number): string {
  const distance = relative(to, now)
  const way = Date.parse(to) < now ? 'back' : 'forward'
  return distance === 'now' ? 'The clock stays.' : `The clock goes ${way} to ${dateTime(to)} (${distance}).`
}
