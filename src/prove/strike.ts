import { endpointOf, endpoints } from '../contract/index.js'
import { faultOf, type Strike } from './disturbances.js'
import type { Ground } from './ground.js'
import { isAccepted, type Maker } from './record.js'
import type { Relay } from './relay.js'

/** Longest wait of a twin for the other one. */
const TWIN_MS_MAX = 300

/** What a disturbance needs of the run. */
export interface Stage {
  readonly ground: Ground
  readonly relay: Relay | undefined
  kill(maker: Maker): void
  /** Stops a program from running, until it is killed. */
  freeze(maker: Maker): void
  /** Starts the app again after a kill. */
  restartApp(): Promise<void>
  note(text: string): void
}

/** A planted disturbance. */
export interface Planted {
  /** True if it took place. */
  tookEffect(): boolean
  stop(): void
  /** The voucher that another till redeemed. */
  taken?(): string | undefined
}

/** Plants a disturbance with the faults of the server; what a fault cannot do happens while it holds the call. */
export function plant(strike: Strike, stage: Stage): Planted {
  const { kind } = strike
  if (kind === 'kill_answered') return killAfterAnswer(strike, stage)
  if (kind === 'kill') return killAfterDelivery(strike, stage)
  if (kind === 'kill_committed') return atHold(strike, stage, async (call) => stage.kill(call?.maker ?? 'action'))
  if (kind === 'twins') return meet(strike, stage)
  if (kind === 'revoked') return revoke(strike, stage)
  if (kind === 'taken') {
    let taken: string | undefined
    const planted = atHold(strike, stage, async (call) => {
      taken = await stage.ground.takeVoucher(call?.body)
      if (taken !== undefined) stage.note('another till redeemed the voucher')
    })
    return { ...planted, tookEffect: () => taken !== undefined, taken: () => taken }
  }
  const { left } = addFault(strike, stage)
  const tookEffect = () => left() === 0 && (kind !== 'late' || stage.relay?.hasOvertaken === true)
  return { tookEffect, stop() {} }
}

/** Adds the fault of a disturbance. `left` is the number of calls that it may still affect. */
function addFault(
  { endpoint, nth, kind }: Strike,
  { ground: { faults } }: Stage,
  members: { nth?: number; times?: number } = {},
) {
  const fault = faultOf({ endpoint, kind })
  if (!fault) return { id: '', fault: undefined, left: () => 1 }
  const { id } = faults.add({ endpoint, nth, ...fault, ...members })
  return { id, fault, left: () => faults.list().find((it) => it.id === id)?.left ?? 0 }
}

/** Does something while a call is held, then releases the call. */
function atHold(
  strike: Strike,
  stage: Stage,
  work: (call: { maker: Maker; body: unknown } | undefined) => Promise<void>,
): Planted {
  const { faults, arrived } = stage.ground
  const { id, left } = addFault(strike, stage)
  let isDone = false
  const stop = faults.onChange(() => {
    const held = faults.held().find((it) => it.fault_id === id)
    if (held === undefined || isDone) return
    isDone = true
    void work(arrived.get(held.request_id)).finally(() => faults.release((it) => it.fault_id === id))
  })
  return { tookEffect: () => left() === 0, stop }
}

/** Holds the same call of two programs until both are there. */
function meet(strike: Strike, stage: Stage): Planted {
  const { faults } = stage.ground
  // The calls before this one were made by both programs.
  const { id, left } = addFault(strike, stage, { nth: 2 * strike.nth - 1, times: 2 })
  const letGo = () => void faults.release((it) => it.fault_id === id)
  let timer: NodeJS.Timeout | undefined
  const stop = faults.onChange(() => {
    const held = faults.held().filter((it) => it.fault_id === id).length
    if (held === 0) return
    timer ??= setTimeout(letGo, TWIN_MS_MAX)
    if (held < 2) return
    stage.note('both programs had sent the call, and continued together')
    clearTimeout(timer)
    // After all who listen have seen both calls.
    queueMicrotask(letGo)
  })
  return {
    tookEffect: () => left() === 0,
    stop() {
      clearTimeout(timer)
      stop()
    },
  }
}

/** Refuses a call, and from then on every call with a token of its kind. */
function revoke(strike: Strike, stage: Stage): Planted {
  const { faults } = stage.ground
  const { id, fault } = addFault(strike, stage)
  const isUsed = () => faults.list().some((it) => it.id === id && it.left !== it.times)
  let isDone = false
  const caller = endpointOf(strike.endpoint)?.caller
  const stop = faults.onChange(() => {
    if (isDone || fault === undefined || !isUsed()) return
    isDone = true
    stage.note('the token was revoked')
    for (const it of endpoints)
      if (it.caller === caller && it.id !== strike.endpoint) faults.add({ ...fault, endpoint: it.id })
  })
  return { tookEffect: () => isDone, stop }
}

/** Kills a program that has its response, and did nothing with it yet: it is frozen before the response is sent. */
function killAfterAnswer(strike: Strike, stage: Stage): Planted {
  const { endpoint, nth } = strike
  stage.ground.onEnd = (call) => {
    if (call.endpoint === endpoint && call.nth === nth) stage.kill(call.maker)
  }
  return atHold(strike, stage, async (call) => stage.freeze(call?.maker ?? 'action'))
}

/** Kills the app after its 2xx, and starts it again before the platform gets the 2xx. */
function killAfterDelivery({ nth }: Strike, { relay, kill, restartApp }: Stage): Planted {
  let isKilled = false
  if (relay !== undefined) {
    relay.onAnswer = async (delivered) => {
      if (isKilled || delivered.nth !== nth || !isAccepted(delivered.status)) return
      isKilled = true
      kill('app')
      await restartApp()
    }
  }
  return { tookEffect: () => isKilled, stop() {} }
}
