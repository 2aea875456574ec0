import type { Failure } from '../failure.js'
import { fail, usage } from '../failure.js'
import { integer, toggle } from '../flags.js'
import type { Context, ContextCallOptions } from '../context.js'
import { defined } from '../defined.js'
import type { Answer, Plan } from '../leaf.js'
import type { List } from '../show.js'
import { isList } from '../show.js'

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

interface PageInput {
  readonly page?: number
  readonly limit?: number
}

/** The page that the flags name, or with --all every one. */
export async function fetchList<Item>(
  context: Context,
  {
    page,
    limit,
    all,
  }: { readonly page: number | undefined; readonly limit: number | undefined; readonly all: boolean },
  fetch: (input: PageInput, options?: ContextCallOptions) => Promise<Fetched<Item>>,
): Promise<Fetched<Item>> {
  if (!all) return fetch(defined({ page, limit }))
  if (page !== undefined || limit !== undefined)
    return usage('--all reads every page; it goes without --page and --limit.')
  return fetchPages(context, (at, size, timeoutMs) => fetch({ page: at, limit: size }, { timeoutMs }))
}

/** Every page after another, as one list, within --timeout. */
async function fetchPages<Item>(
  { dryRun, host, settings }: Context,
  fetch: (page: number, limit: number, timeoutMs: number) => Promise<Fetched<Item>>,
): Promise<Fetched<Item>> {
  const endsAt = host.now() + settings.timeoutMs.value
  const items: Item[] = []
  for (let page = 1; ; page += 1) {
    const leftMs = endsAt - host.now()
    if (leftMs <= 0) return outOfTime(page)
    const fetched = await fetch(page, LARGEST_PAGE, leftMs)
    // What is no list is shown as it came.
    if (!fetched.ok || dryRun || (page === 1 && !isList(fetched.data))) return fetched
    const more = isList(fetched.data) ? fetched.data.items : []
    items.push(...more)
    if (more.length === 0 || page >= pagesOf(fetched.data)) break
  }
  return { ok: true, data: { items, pagination: { page: 1, limit: items.length, total: items.length, pages: 1 } } }
}

/** A server that does not say how many there are has none left when it answers an empty one. */
function pagesOf({ pagination }: List): number {
  return typeof pagination?.pages === 'number' ? pagination.pages : Number.POSITIVE_INFINITY
}

function outOfTime(page: number): Failure {
  return fail('TIMEOUT', `There was no time left for page ${page}.`, 'Give it more time with --timeout 60s.')
}
