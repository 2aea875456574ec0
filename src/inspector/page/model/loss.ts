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

/** Items of a list to read: of more new ones the number is a minimum. */
export const ITEMS_MAX = 100

type Item = Readonly<Record<string, unknown>>

/** Number of items, newest first, that were made after an instant. */
export const madeSince = (kind: Kind, items: readonly Item[], since: string): number =>
  items.filter((it) => String(it[kinds[kind]]) > since).length

/** What is there now and what a restore or a reset removes, by kind. */
export interface Count {
  readonly kind: Kind | 'redemptions'
  /** Null for what has no list. */
  readonly now: number | null
  readonly lost: number
}

/** Says what is lost, such as `Lost are 9 vouchers, 1 chat.`. */
export function lossSentence(counts: readonly Count[]): string {
  const lost = counts
    .filter((it) => it.lost > 0)
    .map(({ kind, lost, now }) => `${plural(lost, kind)}${lost === ITEMS_MAX && lost !== now ? ' or more' : ''}`)
  return lost.length === 0 ? 'Nothing is lost.' : `Lost: ${lost.join(', ')}.`
}

/** Says how the clock moves. @param to instant after the change @param now of the server in ms */
export function clockSentence(to: string, now: number): string {
  const distance = relative(to, now)
  const way = Date.parse(to) < now ? 'back' : 'forward'
  return distance === 'now' ? 'The clock stays.' : `The clock goes ${way} to ${dateTime(to)} UTC (${distance}).`
}
