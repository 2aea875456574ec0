import { credentialTypes, type Endpoint, membersOf, pathParameters } from '../../contract/endpoint.js'
import type { ValidationIssue } from '../../contract/envelope.js'
import { type FailureCode, type Refusal, refuse } from '../../contract/errors.js'
import { actingCalls, type MadeCall } from '../../contract/platform/acting.js'
import type { InnerRequest } from '../../secure/inner-request.js'
import * as apps from '../../store/apps.js'
import { callerById } from '../../store/bots/bots.js'
import { find } from '../../store/find.js'
import type { Op } from '../../store/operation.js'
import { plant } from '../../store/seed.js'
import * as voucherHistory from '../../store/voucher-history.js'
import { mapTexts, parseJson } from '../../values/json.js'
import { type Call, invalid, type MakeSome } from '../handler.js'
import type { ActingFor } from '../http/api-call.js'
import { exchangeOf } from '../observe/exchange.js'
import { exampleSeed } from '../seed/example.js'
import { seedRows } from '../seed/plant.js'
import type { Seed } from '../seed/schema.js'
import { hashCredential, shown } from './vouchers.js'

interface GivenCall {
  readonly endpoint: string
  readonly input: Readonly<Record<string, unknown>>
  readonly idempotency_key?: string
  readonly voucher_id?: string
}

/** Calls of the operator in place of applications, bots and accounts (rules/operator.md#acting-for-others). */
export const actingHandlers = ((deps) => {
  const { store, keys, newId, gate, isLoopback, clock, faults, activity } = deps
  const refuseAccess = () => (isLoopback ? null : refuse('SERVER_NOT_LOOPBACK'))

  /**
   * Makes a call in place of another caller. The call enters the gate, and this one does not: if both did, a reset
   * between them would wait for a call that waits for it.
   * @param find refuses an unknown caller, or returns further members of the input
   */
  const make = async <Code extends FailureCode>(
    as: ActingFor,
    { endpoint: id, input, idempotency_key: givenKey, voucher_id: voucherId }: GivenCall,
    callAs: Call<Endpoint>['callAs'],
    find: () => Op<Refusal<Code> | { readonly credential?: unknown }>,
  ) => {
    const refusal = refuseAccess()
    if (refusal !== null) return refusal
    const endpoint = actingCalls(as.kind).find((it) => it.id === id) as Endpoint
    const issue = issueOf(endpoint, input, voucherId)
    if (issue !== undefined) return invalid(issue)
    const found = await gate.run(() => store.read(find))
    if ('ok' in found) return found
    const key = givenKey ?? (endpoint.idempotent ? newId('req') : undefined)
    const { captured, code } = await callAs(as, requestOf(endpoint, { ...input, ...found }, key))
    const { request, response } = exchangeOf(captured)
    const { method, url } = request
    const sent = { method, url, idempotency_key: key ?? null, body: jsonOf(request.body) }
    const data: MadeCall = { status: captured.status as number, code, body: jsonOf(response?.body), request: sent }
    return { ok: true as const, data }
  }
  return {
    callAsApp: {
      bypassesGate: true,
      handle: ({ appId, ...given }, { callAs }) =>
        make<'APPLICATION_NOT_FOUND' | 'VOUCHER_NOT_FOUND'>({ kind: 'token', id: appId }, given, callAs, function* () {
          if ((yield* apps.find(appId)) === undefined) return refuse('APPLICATION_NOT_FOUND')
          if (given.voucher_id === undefined) return {}
          const voucher = yield* voucherHistory.credentials(given.voucher_id, keys)
          if ('ok' in voucher) return voucher
          return voucher.applicationId === appId ? { credential: voucher.credentials[0] } : refuse('VOUCHER_NOT_FOUND')
        }),
    },

    callAsBot: {
      bypassesGate: true,
      handle: ({ botId, ...given }, { callAs }) =>
        make<'BOT_NOT_FOUND'>({ kind: 'bot', id: botId }, given, callAs, function* () {
          return (yield* callerById(botId)) === undefined ? refuse('BOT_NOT_FOUND') : {}
        }),
    },

    callAsAccount: {
      bypassesGate: true,
      handle: ({ accountId, ...given }, { callAs }) =>
        make<never>({ kind: 'jwt', id: accountId }, given, callAs, function* () {
          return {}
        }),
    },

    showCredentials: async ({ voucherId }) => {
      const refusal = refuseAccess()
      if (refusal !== null) return refusal
      const found = await store.read(() => voucherHistory.credentials(voucherId, keys))
      if ('ok' in found) return found
      return { ok: true, data: { voucher_id: voucherId, credentials: found.credentials } }
    },

    seedStore: async ({ seed: given }) => {
      const refusal = refuseAccess()
      if (refusal !== null) return refusal
      const now = clock.now()
      const { checkSeed, withoutTokens } = await import('../seed/read.js')
      const checked = checkSeed(given ?? exampleSeed(deps), now)
      if (!checked.ok) {
        const hidden = mapTexts(checked.issues, withoutTokens) as readonly ValidationIssue[]
        return invalid(...hidden.map((it) => ({ ...it, pointer: `/seed${it.pointer}` })))
      }
      const { seed } = checked
      const rows = seedRows(seed, now, deps)
      const { planted, differences } = await store.write(() => plant(rows))
      if (!planted && differences.length > 0) return refuse('STORE_NOT_EMPTY')
      if (planted) {
        for (const it of seed.faults ?? []) faults.add(it)
        activity.changed('seed')
      }
      return { ok: true, data: { planted, ...tokensOf(seed) } }
    },

    find: async ({ text }) => {
      const wanted = text.trim()
      const hashed = credentialTypes.map((type) => hashCredential({ type, value: wanted }, keys))
      return shown({ ok: true, data: await store.read(() => find(wanted, hashed)) })
    },
  }
}) satisfies MakeSome<'platform'>

/** Returns the tokens of a seed by their owners. */
const tokensOf = ({ applications = [], bots = [] }: Seed) => ({
  applications: applications.map(({ id, name, tokens = [] }) => ({
    ...{ id, name },
    tokens: tokens.map((it) => ({ id: it.id, name: it.name, token: it.token })),
  })),
  bots: bots.map(({ id, username, token = null }) => ({ id, username, token })),
})

/** Finds a mistake that the called endpoint could not report, because no request can contain it. */
function issueOf(
  endpoint: Endpoint,
  input: Readonly<Record<string, unknown>>,
  voucherId: string | undefined,
): ValidationIssue | undefined {
  // Half of a surrogate pair has no encoding in a path.
  const isId = (value: unknown) => typeof value === 'string' && /^\P{Surrogate}+$/u.test(value)
  const path = pathParameters(endpoint.path).find((name) => !isId(input[name]))
  if (path !== undefined) return { pointer: `/input/${path}`, code: 'required', message: 'must be an id' }
  if (voucherId === undefined) return undefined
  if (!Object.hasOwn(membersOf(endpoint.body), 'credential')) {
    return { pointer: '/voucher_id', code: 'conflict', message: `does not belong to ${endpoint.id}` }
  }
  if (!Object.hasOwn(input, 'credential')) return undefined
  return { pointer: '/voucher_id', code: 'conflict', message: 'stands instead of a credential, not beside it' }
}

/** Builds the request of a call from its flat input. */
function requestOf(
  { method, path, query }: Endpoint,
  input: Readonly<Record<string, unknown>>,
  key: string | undefined,
): InnerRequest {
  const inPath = pathParameters(path)
  const others = Object.entries(input).filter(([name]) => !inPath.includes(name))
  const inQuery = method === 'GET' ? others : others.filter(([name]) => Object.hasOwn(membersOf(query), name))
  const body = Object.fromEntries(others.filter((it) => !inQuery.includes(it)))
  return {
    method,
    path: path.replaceAll(/:([A-Za-z]+)/g, (_, name: string) => encodeURIComponent(String(input[name]))),
    query: inQuery.map(([name, value]) => [name, typeof value === 'object' ? JSON.stringify(value) : String(value)]),
    headers: { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) },
    ...(method === 'GET' ? {} : { body }),
  }
}

/** Reads a captured body; null if it is empty, hidden or cut. */
function jsonOf(base64: string | null | undefined): Record<string, unknown> | null {
  const value = base64 == null ? undefined : parseJson(Buffer.from(base64, 'base64').toString())
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
}
