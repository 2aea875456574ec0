import type { Fault } from '../../../contract/platform/controls.js'
import { faultTable } from '../../../contract/platform/fault-kinds.js'
import { count } from './format.js'

/** Describes a fault, such as `5 % of the calls of vouchers.redeem lose their response`. */
export function faultSentence({ endpoint, kind, share, left, delay_ms, status, nth, match }: Fault): string {
  const calls = match ? 'matching calls' : 'calls'
  const affected =
    share === null
      ? `${calls[0]?.toUpperCase()}${calls.slice(1)}`
      : `${Number((share * 100).toPrecision(3))} % of the ${calls}`
  const wait = delay_ms === null ? '' : kind === 'delay' ? ` by ${count(delay_ms)} ms` : ` after ${count(delay_ms)} ms`
  const from = nth === undefined ? '' : ` from number ${count(nth)} on`
  return `${affected} of ${endpoint}${from} ${faultTable[kind][1]}${status === undefined ? '' : ` ${status}`}${wait}${left === null ? '' : `, ${count(left)} more`}`
}
