import { call, type Result } from '../api.js'

/** Pages of 100 items in which an item is looked for. */
const PAGES_MAX = 20

/** Finds an item by its id in a list of the operator API that has no endpoint for one item. */
export async function findIn<Item extends { readonly id: string }>(list: string, id: string): Promise<Result<Item>> {
  for (let page = 1; page <= PAGES_MAX; page++) {
    const read = await call<{ items: readonly Item[] }>('GET', `/${list}?limit=100&page=${page}`)
    if (!read.ok) return read
    const found = read.data.items.find((it) => it.id === id)
    if (found) return { ok: true, data: found }
    if (read.data.items.length < 100) break
  }
  return { ok: false, sentence: `Nothing here has the id ${id}.` }
}
