import { apps } from '../../contract/apps.js'
import { kindOf } from '../../contract/secrets.js'
import { tokens } from '../../contract/tokens.js'
import { asMembers } from '../../values/json.js'
import { findCredential } from '../config/credentials.js'
import { adviceFor, type UsedCredential } from '../failures/call-failure.js'
import type { Failure } from '../failures/failure.js'
import { isList } from '../output/select-fields.js'
import type { Context } from './context.js'

/** Completes the hint for a refused application token with its application and scopes, if the account shows them. */
export async function withTokenAdvice(context: Context, failure: Failure): Promise<Failure> {
  const { code, details } = failure
  if (code !== 'INSUFFICIENT_SCOPE' && code !== 'APPLICATION_DISABLED') return failure
  const base = context.baseUrl()
  if (!base.ok || context.lastCredential?.kind !== 'token') return failure
  const token = await context.credential('token', base.value)
  if (!token.ok || kindOf(token.value) !== 'token') return failure
  const credential = { kind: 'token', source: token.source.replace(/^environment /, '') } as const
  const hint = (it?: UsedCredential) => adviceFor(code, { details, input: { appId: it?.owner?.appId }, credential: it })
  // A hint that has more already is final.
  if (failure.hint !== hint() && failure.hint !== hint(credential)) return failure
  const owner = await findOwner(context, token.value, base.value)
  return { ...failure, hint: hint({ ...credential, owner }) }
}

async function findOwner(context: Context, token: string, baseUrl: string): Promise<UsedCredential['owner']> {
  const { host, globals, settings, call } = context
  const jwt = await findCredential(host, globals, settings, 'jwt', baseUrl)
  // --token-file holds the application token itself.
  if (!jwt.ok || kindOf(jwt.value) !== 'jwt') return undefined
  const options = { target: { baseUrl, credential: jwt.value } }
  // Ten applications limit the calls that a hint costs.
  for (const { id: appId } of itemsOf(await call(apps.list, { limit: 10 }, options))) {
    if (typeof appId !== 'string') continue
    const its = itemsOf(await call(tokens.list, { appId, limit: 100 }, options))
    const found = its.find((it) => token.startsWith(`${it.tokenPrefix}`) && token.endsWith(`${it.last4}`))
    if (found !== undefined) return { appId, scopes: Array.isArray(found.scopes) ? found.scopes : [] }
  }
  return undefined
}

/** Records of a list; a server may send anything. */
const itemsOf = (result: object) =>
  'data' in result && isList(result.data) ? result.data.items.map((it) => asMembers(it) ?? {}) : []
