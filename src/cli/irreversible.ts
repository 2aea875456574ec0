import type { Context } from './context.js'
import type { Failure } from './failure.js'

/** Calls that cannot be undone, whichever command makes them (cli.md, calls). */
const irreversible: Readonly<Partial<Record<string, string>>> = {
  'tokens.revoke': 'Revoking',
  'bots.regenerateToken': 'Replacing the token of',
}

/** For commands that make any call: of a production profile asks as the command of that call does. */
export async function confirmCall(
  { confirm }: Context,
  route: { readonly id: string; readonly path: string } | undefined,
  path: string,
): Promise<Failure | undefined> {
  const action = route === undefined ? undefined : irreversible[route.id]
  if (route === undefined || action === undefined) return undefined
  const last = route.path.split('/').findLastIndex((it) => it.startsWith(':'))
  const id = path.split(/[/?]/)[last] ?? path
  return confirm(`${action} ${id}`, id)
}
