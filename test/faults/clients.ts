import { setTimeout as wait } from 'node:timers/promises'
import { contract } from '../../src/contract/index.js'
import type { IssuedVoucher, Redemption } from '../../src/contract/vouchers.js'
import type { ApiResponse } from '../support/server/client.js'
import { codeOf, type Tenant } from '../support/server/tenant.js'
import type { Action, CallLog, Entry } from './call-log.js'
import type { Random } from './random.js'

const RESPONSE_MS_MAX = 30_000

/** Sends a logged call and logs its response; returns null if the connection ended without a response. */
export async function send(tenant: Tenant, callLog: CallLog, entry: Entry): Promise<ApiResponse | null> {
  const extra = { key: entry.key }
  const call = (): Promise<ApiResponse> => {
    switch (entry.action) {
      case 'issue':
        return tenant.runtime(contract.vouchers.issue, entry.input as never, extra)
      case 'redeem':
        return tenant.runtime(contract.vouchers.redeem, entry.input as never, extra)
      case 'reverse':
        return tenant.runtime(contract.vouchers.reverse, entry.input as never, extra)
    }
  }
  const overdue = new AbortController()
  try {
    const late = wait(RESPONSE_MS_MAX, 'late' as const, { signal: overdue.signal })
    late.catch(() => {})
    const response = await Promise.race([call(), late])
    if (response === 'late') {
      callLog.wrong(`${entry.key} had no response within ${RESPONSE_MS_MAX / 1000} s`)
      return null
    }
    callLog.recordResponse(entry, response)
    return response
  } catch {
    callLog.recordNoResponse(entry)
    return null
  } finally {
    overdue.abort()
  }
}

/** Maximum ms of a planted hold: other clients release most of them earlier. */
const HOLD_MS_MAX = 2_000

/** Sometimes holds the next call of an endpoint at a random place, or releases the held calls. */
async function disturb(tenant: Pick<Tenant, 'operator'>, action: Action, random: Random): Promise<void> {
  const [holds, releases] = [random.chance(0.05), random.chance(0.05)]
  const at = random.pick(['received', 'before', 'committed', 'answered'] as const)
  const hold = { endpoint: `vouchers.${action}`, kind: 'hold', at, hold_ms: random.between(1, HOLD_MS_MAX) } as const
  try {
    if (holds) await tenant.operator(contract.platform.addFault, hold)
    if (releases) await tenant.operator(contract.platform.releaseCalls, {})
  } catch {
    // The server has ended: the next call notices.
  }
}

/** True if the server holds a call now. */
export async function holdsCall(tenant: Tenant): Promise<boolean> {
  const { data } = await tenant.operator(contract.platform.faults, {})
  return data.held.length > 0
}

export interface Work {
  readonly tenant: Tenant
  readonly callLog: CallLog
  readonly random: Random
  /** Unique name of the client: its idempotency keys and external ids contain it. */
  readonly name: string
  /** Templates to issue from, mostly from the first. */
  readonly templateIds: readonly string[]
  /** Plants and releases holds of calls at random; absent for none. */
  readonly holdsFor?: Pick<Tenant, 'operator'>
  /** Set for a client with one connection: it never sends a call twice concurrently. */
  readonly oneAtATime?: boolean
  /** Called before each call: false stops the client. */
  shouldContinue(): boolean
  onResponse?(response: ApiResponse): void
}

/**
 * A client: issues, redeems, reverses and redeems again, sometimes sending a call twice concurrently, until `shouldContinue`
 * returns false or a connection ends without a response. It logs every call before it sends the call.
 */
export async function clerk(work: Work): Promise<void> {
  const { tenant, callLog, random, name, templateIds, onResponse } = work
  let going = true
  const settle = async (key: string, action: Action, input: Entry['input']): Promise<ApiResponse | null> => {
    if (!going || !work.shouldContinue()) return null
    if (work.holdsFor !== undefined) await disturb(work.holdsFor, action, random)
    const entry = callLog.open(key, action, input)
    const twice = !work.oneAtATime && random.chance(0.1) ? [entry, entry] : [entry]
    const responses = await Promise.all(twice.map((it) => send(tenant, callLog, it)))
    for (const response of responses) if (response !== null) onResponse?.(response)
    if (responses.includes(null)) going = false
    return responses.find((it) => it !== null && it.status < 300) ?? null
  }
  for (let n = 0; going && work.shouldContinue(); n++) {
    const id = `${name}-${n}`
    const template_id = random.chance(0.8) ? templateIds[0] : random.pick(templateIds)
    const issue = { template_id, external_issue_id: id, recipient_user_id: `user-${random.below(50)}` }
    const issued = await settle(`issue-${id}`, 'issue', issue)
    if (issued === null) continue
    const credential = codeOf(issued.data as IssuedVoucher, random.pick(['redeem_code', 'qr_token'] as const))
    const redeemed = await settle(`redeem-${id}`, 'redeem', { credential })
    if (redeemed === null || !random.chance(0.4)) continue
    const { id: redemptionId } = redeemed.data as Redemption
    const reversed = await settle(`reverse-${id}`, 'reverse', { redemptionId })
    if (reversed !== null && random.chance(0.5)) await settle(`again-${id}`, 'redeem', { credential })
  }
}

/** Runs `count` clients concurrently. */
export async function clerks(count: number, work: Work): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const name = `${work.name}-c${index}`
      return clerk({ ...work, name, random: work.random.of(name) })
    }),
  )
}

/** Repeats calls without a response until each has one; returns the calls still without one after `msMax`. */
export async function retryUnresolved(tenant: Tenant, callLog: CallLog, msMax = 5_000): Promise<Entry[]> {
  const deadline = performance.now() + msMax
  while (callLog.unresolved().length > 0 && performance.now() < deadline) {
    await Promise.all(callLog.unresolved().map((entry) => send(tenant, callLog, entry)))
    if (callLog.unresolved().length > 0) await wait(50)
  }
  return callLog.unresolved()
}
