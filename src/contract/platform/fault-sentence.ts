import type { Fault } from './controls.js'
import { DELIVERIES, faultTable, holdPlaces } from './fault-kinds.js'

/** Describes what is still to come, such as `5 % of the calls of vouchers.redeem lose their response.` */
export function faultSentence(fault: Omit<Fault, 'id'>): string {
  const { endpoint, kind, share, left, delay_ms: delay } = fault
  // A client may forbid to read a member that is missing.
  const status = 'status' in fault ? ` ${fault.status}` : ''
  const place = 'at' in fault ? ` ${holdPlaces[fault.at ?? 'committed']}` : ''
  const wait = delay === null ? '' : ` ${kind === 'delay' ? 'by' : 'after'} ${delay} ms`
  const what = `${faultTable[kind][1]}${status}${place}${wait}`
  const of = endpoint === DELIVERIES ? '' : ` of ${endpoint}`
  const [one, several] = endpoint === DELIVERIES ? ['delivery', 'deliveries'] : ['call', 'calls']
  const matching = 'match' in fault ? 'matching ' : ''
  const limit = left === null ? '.' : `, at most ${left} ${left === 1 ? 'time' : 'times'}.`
  if ('nth' in fault) return `The ${matching}${several}${of} from number ${fault.nth} on ${what}${limit}`
  if (share !== null)
    return `${Number((share * 100).toPrecision(3))} % of the ${matching}${several}${of} ${what}${limit}`
  const will = `${of} will ${what.replace(/^are /, 'be ')}.`
  if (left === 1) return `The next ${matching}${one}${will.replace(' their ', ' its ')}`
  return left === null ? `All ${matching}${several}${will}` : `The next ${left} ${matching}${several}${will}`
}
