import { allProbes } from '../../../../src/conform/probes/index.js'
import type { Deviant, Deviate } from '../deviants.js'
import { bots } from './bots.js'
import { callers } from './callers.js'
import { callDeviants } from './calls.js'
import { encryption } from './encryption.js'
import { vouchers } from './vouchers.js'
import { webhooks } from './webhooks.js'

const decided = new Set<string>(allProbes.filter(({ basis }) => basis === 'decided').map(({ id }) => id))

/** Deviant servers of which every probe tests a decision. */
export const decisions: readonly Deviant[] = [
  ...new Map(
    [...callDeviants, ...callers, ...vouchers, ...bots, ...webhooks, ...encryption].filter(([probes]) =>
      probes.split(' ').every((id) => decided.has(id)),
    ),
  ),
] as Deviant[]

/** Forwards a call unchanged that a deviation cannot read, because another one has changed its form. */
const tolerant =
  (deviate: Deviate): Deviate =>
  (next) => {
    const deviant = deviate(next)
    return async (request) => {
      try {
        return await deviant(request)
      } catch (error) {
        if (error instanceof TypeError || error instanceof SyntaxError) return next(request)
        throw error
      }
    }
  }

/** A platform with all of the deviations. */
export const combined =
  (list: readonly Deviant[]): Deviate =>
  (reference) =>
    list.reduce((next, [, deviate]) => tolerant(deviate)(next), reference)
