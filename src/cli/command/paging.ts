import type { Endpoint, InputOf, OutputOf } from '../../contract/endpoint.js'
import { defined } from '../../values/json.js'
import { type Failure, fail, optionOf } from '../failures/failure.js'
import { excluding, type Flags, integer, toggle, type ValuesOf } from '../flags/flags.js'
import type { Outcome, Plan, Result } from '../output/outcome.js'
import { isList, type List } from '../output/select-fields.js'
import type { Context, ContextCallOptions } from './context.js'
import { type CommonLeaf, type Leaf, leaf, type Positional } from './leaf.js'

export const pageFlags = {
  page: integer('N', 'Page, from 1', 1, 1_000_000_000),
  limit: integer('N', 'Items of a page, 1 to 100', 1, 100),
  all: excluding(toggle('Every page'), 'page', 'limit'),
}

const LARGEST_PAGE = 100

interface PageInput {
  readonly page?: number
  readonly limit?: number
}

type PageResult<Data> = Result<Data> | Plan | Failure
type Fetch<Data> = (paging: PageInput, options?: ContextCallOptions) => Promise<PageResult<Data>>

interface ListLeaf<E extends Endpoint, F extends Flags, P extends Positional | undefined>
  extends CommonLeaf<F, P, OutputOf<E>> {
  readonly endpoint: E
}

/** A command that prints a list page by page; its flags are filters of the list. */
export function listLeaf<
  E extends Endpoint,
  const F extends Flags = Record<never, never>,
  const P extends Positional | undefined = undefined,
>(definition: ListLeaf<E, F, P>): Leaf {
  const flags = { ...definition.flags, ...pageFlags }
  return leaf<OutputOf<E>, E, typeof flags, P>({
    ...definition,
    flags,
    run: (context, { flags, input }) => fetchList(context, flags, definition.endpoint, input),
  })
}

/** @param input members of the call; the flags have the page */
export async function fetchList<E extends Endpoint>(
  context: Context,
  flags: ValuesOf<typeof pageFlags>,
  endpoint: E,
  input: Omit<InputOf<E>, keyof PageInput>,
): Promise<Outcome<OutputOf<E>>> {
  const { page, limit, all } = flags
  const { page: _page, limit: _limit, ...filter } = input as InputOf<E> & PageInput
  const fetch: Fetch<OutputOf<E>> = (paging, options) =>
    context.call(endpoint, { ...filter, ...paging } as InputOf<E>, options)
  if (!all) {
    const fetched = await fetch(defined({ page, limit }))
    if (!fetched.ok || !isEmpty(fetched.data)) return fetched
    return { ...fetched, empty: await emptyText(context, endpoint, filter, flags) }
  }
  return fetchAll(context, fetch, () => emptyText(context, endpoint, filter, flags))
}

/** True for an empty list whose items are not on another page. */
const isEmpty = (data: unknown) => isList(data) && data.items.length === 0 && !((data.pagination?.total ?? 0) > 0)

/** Time limit in ms of the call that counts the items without the filters. */
const COUNT_MS = 3_000

/** Says which filters found nothing, and how many items the list has without them. */
async function emptyText<E extends Endpoint>(
  { baseUrl, call, output }: Context,
  endpoint: E,
  input: Omit<InputOf<E>, keyof PageInput>,
  given: Readonly<Record<string, unknown>>,
): Promise<string | undefined> {
  if (output.options.format !== 'table' || output.options.quiet) return undefined
  const [group = '', name] = endpoint.id.split('.')
  const noun = name === 'list' ? group : name
  const server = baseUrl()
  const where = server.ok ? ` on ${server.value}` : ''
  const members = Object.entries(input)
  const scope = members.filter(([member]) => endpoint.path.includes(`:${member}`))
  const isScope = (value: unknown) => scope.some(([, it]) => it === value)
  const filters = Object.entries(given)
    .filter(([flag, value]) => !(flag in pageFlags) && typeof value === 'string' && !isScope(value))
    .map(([flag, value]) => optionOf(flag, String(value)))
  const of = scope.length === 0 ? '' : ` of ${scope.map(([, id]) => id).join(' ')}`
  if (filters.length === 0) return `No ${noun}${of}${where} yet.`
  const first = { ...Object.fromEntries(scope), page: 1, limit: 1 } as InputOf<E>
  const counted = await call(endpoint, first, { timeoutMs: COUNT_MS })
  const total = counted.ok && isList(counted.data) ? counted.data.pagination?.total : undefined
  const without =
    total === 0 ? ` There are no ${noun} at all.` : ` Without the filter there ${total === 1 ? 'is' : 'are'} ${total}.`
  return `No ${noun}${of}${where} match ${filters.join(' ')}.${typeof total === 'number' ? without : ''}`
}

/** Fetches all pages; all calls together take at most --timeout. */
export async function fetchAll<Data>(
  { host, settings }: Context,
  fetch: Fetch<Data>,
  explainEmpty: () => Promise<string | undefined> = async () => undefined,
): Promise<Outcome<Data>> {
  const endsAt = host.now() + settings.timeoutMs.value
  const fetchPage = async (at: number): Promise<PageResult<Data>> => {
    const timeoutMs = endsAt - host.now()
    if (timeoutMs > 0) return fetch({ page: at, limit: LARGEST_PAGE }, { timeoutMs })
    return fail('TIMEOUT', `There was no time left for page ${at}.`, 'Give it more time with --timeout 60s.')
  }
  const first = await fetchPage(1)
  // A failure or a dry run's plan is not a list: return it unchanged.
  if (!first.ok || !isList(first.data)) return first
  const empty = isEmpty(first.data) ? await explainEmpty() : undefined
  return { ok: true, pages: pagesFrom(first.data, fetchPage), empty }
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
