import type { Endpoint, InputOf, OutputOf } from '../../contract/endpoint.js'
import { type Failure, fail, usage } from '../failure.js'
import { defined } from '../flags/defined.js'
import { integer, toggle, type ValuesOf } from '../flags/flags.js'
import { isList, type List } from '../output/fields.js'
import type { Outcome, Plan, Result } from '../output/outcome.js'
import type { Context, ContextCallOptions } from './context.js'

/** Flags of commands that print a list in pages. */
export const pageFlags = {
  page: integer('N', 'Page, from 1', 1, 1_000_000_000),
  limit: integer('N', 'Items of a page, 1 to 100', 1, 100),
  all: toggle('Every page'),
}

const LARGEST_PAGE = 100

interface PageInput {
  readonly page?: number
  readonly limit?: number
}

type PageResult<Data> = Result<Data> | Plan | Failure
type Fetch<Data> = (paging: PageInput, options?: ContextCallOptions) => Promise<PageResult<Data>>

/** Fetches the page that the flags select, or all pages with --all. */
export async function fetchList<E extends Endpoint>(
  context: Context,
  { page, limit, all }: ValuesOf<typeof pageFlags>,
  endpoint: E,
  filter: Omit<InputOf<E>, keyof PageInput>,
): Promise<Outcome<OutputOf<E>>> {
  const fetch: Fetch<OutputOf<E>> = (paging, options) =>
    context.call(endpoint, { ...filter, ...paging } as InputOf<E>, options)
  if (!all) return fetch(defined({ page, limit }))
  if (page !== undefined || limit !== undefined)
    return usage('--all reads every page; it goes without --page and --limit.')
  return fetchAll(context, fetch)
}

/** Fetches all pages; all calls together take at most --timeout. */
export async function fetchAll<Data>({ host, settings }: Context, fetch: Fetch<Data>): Promise<Outcome<Data>> {
  const endsAt = host.now() + settings.timeoutMs.value
  const fetchPage = (at: number): Promise<PageResult<Data>> => {
    const timeoutMs = endsAt - host.now()
    return timeoutMs > 0 ? fetch({ page: at, limit: LARGEST_PAGE }, { timeoutMs }) : Promise.resolve(outOfTime(at))
  }
  const first = await fetchPage(1)
  // A failure or a dry run's plan is not a list: return it unchanged.
  if (!first.ok || !isList(first.data)) return first
  return { ok: true, pages: pagesFrom(first.data, fetchPage) }
}

async function* pagesFrom(
  first: List,
  fetchPage: (at: number) => Promise<PageResult<unknown>>,
): AsyncGenerator<List, Failure | undefined> {
  yield first
  for (let at = 2, last = first; last.items.length > 0 && at <= pagesOf(last); at += 1) {
    const fetched = await fetchPage(at)
    if (!fetched.ok) return 'plan' in fetched ? undefined : fetched
    if (!isList(fetched.data)) return fail('INVALID_RESPONSE', `Page ${at} is not a list.`)
    last = fetched.data
    yield last
  }
  return undefined
}

/** Number of pages; unlimited if the server does not send it, because then an empty page ends the list. */
function pagesOf({ pagination }: List): number {
  return typeof pagination?.pages === 'number' ? pagination.pages : Number.POSITIVE_INFINITY
}

function outOfTime(page: number): Failure {
  return fail('TIMEOUT', `There was no time left for page ${page}.`, 'Give it more time with --timeout 60s.')
}
