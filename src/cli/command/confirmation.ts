import type { Endpoint } from '../../contract/endpoint.js'
import type { Failure } from '../failures/failure.js'
import type { Context } from './context.js'

/** Asks before a call that cannot be undone (rules/cli.md#confirmations). @param subject id of the affected resource */
export async function confirmLoss(
  { confirm }: Context,
  { irreversible }: Pick<Endpoint, 'irreversible'>,
  subject: string,
): Promise<Failure | undefined> {
  if (irreversible === undefined) return undefined
  const { action, loses } = irreversible
  return confirm({ action: `${action} ${subject}`, loses, word: subject })
}

/** Asks for confirmation of a call by `api` or `secure call`, as the dedicated command of that call does. */
export async function confirmCall(
  context: Context,
  route: Pick<Endpoint, 'path' | 'irreversible'> | undefined,
  path: string,
): Promise<Failure | undefined> {
  if (route === undefined) return undefined
  const last = route.path.split('/').findLastIndex((it) => it.startsWith(':'))
  const server = context.baseUrl()
  return confirmLoss(context, route, path.split(/[/?]/)[last] ?? (server.ok ? server.value : path))
}
