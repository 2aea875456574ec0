import type { Fault } from '../../../contract/platform/controls.js'
import { count } from './format.js'

const effects = { delay: 'are delayed', error: 'fail with 503', drop_response: 'lose their response' } as const

/** Describes a fault, such as `5 % of the calls of vouchers.redeem lose their response`. */
export function faultSentence({ endpoint, kind, rate, left, delay_ms }: Fault): string {
  const share = rate === null ? 'Calls' : `${Number((rate * 100).toPrecision(3))} % of the calls`
  const wait = delay_ms === null ? '' : kind === 'delay' ? ` by ${count(delay_ms)} ms` : ` after ${count(delay_ms)} ms`
  return `${share} of ${endpoint} ${effects[kind]}${wait}${left === null ? '' : `, ${count(left)} more`}`
}
