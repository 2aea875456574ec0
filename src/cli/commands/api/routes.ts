import { type ApiRoute, knownRoutes } from '../../command/known-routes.js'
import { type Entry, type Leaf, leaf } from '../../command/leaf.js'
import { leavesOfEntries, type NamedLeaf } from '../../command/tree.js'

type ListedRoute = ReturnType<typeof listedOf>

/** @param entries nodes of the command tree */
export const routes = (entries: readonly Entry[]): Leaf =>
  leaf({
    name: 'routes',
    summary: 'List every route with its credential, scope and command',
    positional: { name: 'WORD', summary: 'Only routes that contain this text, such as redeem, jwt or DELETE' },
    examples: ['voucherctl api routes', 'voucherctl api routes vouchers:issue --json'],
    view: {
      body: ({ items }: { readonly items: readonly ListedRoute[] }) =>
        items.length === 0 ? 'No route contains that text.' : items.map(linesOf).join('\n'),
    },
    run: async (_context, { positional }) => {
      const commands = commandsByRoute(await leavesOfEntries(entries))
      const listed = (await knownRoutes()).map((it) => listedOf(it, commands.get(it.id)))
      const word = positional?.toLowerCase()
      const says = (it: ListedRoute) => word === undefined || Object.values(it).join(' ').toLowerCase().includes(word)
      return { ok: true, data: { items: listed.filter(says) } }
    },
  })

/** Formats a route on one line. It never truncates the path, which users search for. */
function linesOf({ method, path, credential, scope, idempotency_key, command }: ListedRoute): string {
  const caller = scope === null ? credential : `${credential} ${scope}`
  const key = idempotency_key === null ? '' : ', Idempotency-Key'
  const by = command === null ? '' : `, voucherctl ${command}`
  return `${method.padEnd(METHOD_WIDTH)}${path}\n${' '.repeat(METHOD_WIDTH)}${caller}${key}${by}`
}

const METHOD_WIDTH = 8

function listedOf({ id, summary, method, path, caller, scope, idempotent }: ApiRoute, command: string | undefined) {
  return {
    method,
    path,
    credential: caller,
    scope: scope ?? null,
    idempotency_key: idempotent === undefined ? null : idempotent === true ? 'required' : 'optional',
    id,
    summary,
    command: command ?? null,
  }
}

/** Lists the command of each route by id, such as `apps link-bot` for `apps.linkBot`; some routes have none. */
export function commandsByRoute(leaves: readonly NamedLeaf[]): ReadonlyMap<string, string> {
  const called = leaves.flatMap(([path, { endpoint, alsoCalls = {} }]) => {
    const own: [string, string][] = endpoint === undefined ? [] : [[endpoint.id, '']]
    return [...own, ...Object.entries(alsoCalls)].map(([id, flags]) => [id, [...path, flags].join(' ').trim()] as const)
  })
  return new Map(called)
}
