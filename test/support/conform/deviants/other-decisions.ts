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

const inconsistent = 'The proxy changes an id in one response alone, so that no list has it.'
const hides = 'It hides what other deviations change.'
const needed = 'A specified probe builds on it, and cannot tell it from a platform that lacks the call.'

/** Deviations that are not part of the combined platform, with the reason. */
export const notCombined: Readonly<Record<string, string>> = {
  'envelope/data-of-a-template': needed,
  'envelope/data-of-an-issue': hides,
  'applications/enabled-again': needed,
  'bot-records/profile-defaults': needed,
  'bot-records/token-only-by-get': needed,
  'bootstrap-and-session/kid': needed,
  'bootstrap-and-session/server-time': needed,
  'ids/app': inconsistent,
  'ids/tpl': inconsistent,
  'ids/vch': inconsistent,
  'ids/rdm': inconsistent,
  'ids/tok': inconsistent,
  'issue/repeated-status': hides,
  'bot-issue/delivery': hides,
  'update-types/voucher-issued': hides,
  'update-types/voucher-redeemed': hides,
  'update-types/voucher-reversed': hides,
  'update-types/selected-later': hides,
  'update-types/deselected-later': hides,
  'polling/ascending': hides,
  'polling/unconfirmed': hides,
  'polling/limit-of-100': hides,
  'polling/held': hides,
  'polling/refused-poll-ends-an-older-one': hides,
}

/** Deviations of the combined platform. */
export const combinable = decisions.filter(([probes]) => notCombined[probes] === undefined)

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
