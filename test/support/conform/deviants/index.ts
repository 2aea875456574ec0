import type { Deviate } from '../deviants.js'
import { bots } from './bots.js'
import { callers } from './callers.js'
import { callDeviants } from './calls.js'
import { encryption } from './encryption.js'
import { vouchers } from './vouchers.js'
import { webhooks } from './webhooks.js'

const byProbe: ReadonlyMap<string, Deviate> = new Map([
  ...[...callDeviants, ...callers, ...vouchers, ...bots, ...webhooks, ...encryption],
])

/** @param probe a probe that reports the deviant server */
export function deviantOf(probe: string): Deviate {
  const deviate = byProbe.get(probe)
  if (deviate === undefined) throw new Error(`There is no deviant server for ${probe}`)
  return deviate
}
