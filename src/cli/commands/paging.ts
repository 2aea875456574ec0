import type { Failure } from '../failure.js'
import { integer, toggle } from '../flags.js'
import type { Context } from '../context.js'
import type { Answer, Plan } from '../leaf.js'
import type { List } from '../show.js'

export const pageFlags = {
  page: integer('N', 'Page, from 1', 1, 1_000_000_000),
  limit: integer('N', 'Items of a page, 1 to 100', 1, 100),
}

export const allFlag = { all: toggle('Every page') }

const LARGEST_PAGE = 100

interface Page<Item> extends List {
  items: Item[]
  pagination: { page: number; limit: number; total: number; pages: number }
}

type Fetched<Item> = Answer<Page<Item>> | Plan | Failure

/** Every page after another, as one list. */
export async function fetchPages<Item>(
  { dryRun }: Context,
  fetch: (page: number, limit: number) => Promise<Fetched<Item>>,
): Promise<Fetched<Item>> {
  const first = await fetch(1, LARGEST_PAGE)
  if (!first.ok || dryRun) return first
  const items = [...first.data.items]
  for (let page = 2; page <= first.data.pagination.pages; page += 1) {
    const next = await fetch(page, LARGEST_PAGE)
    if (!next.ok) return next
    items.push(...next.data.items)
  }
  return { ok: true, data: { items, pagination: { page: 1, limit: items.length, total: items.length, pages: 1 } } }
}
