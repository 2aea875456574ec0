import type { Forecast } from '../../../contract/platform/controls.js'

const count = (number: number, one: string, several: string) =>
  number === 0 ? [] : [`${number} ${number === 1 ? one : several}`]

/** Says what happens until the time of a forecast: `3 deliveries fall due, 12 vouchers expire`. */
export function foretell(it: Forecast): string {
  const events = [
    ...count(it.deliveries_due, 'delivery falls due', 'deliveries fall due'),
    ...count(it.vouchers_becoming_valid, 'voucher becomes valid', 'vouchers become valid'),
    ...count(it.vouchers_expiring, 'voucher expires', 'vouchers expire'),
    ...count(it.tokens_expiring, 'application token expires', 'application tokens expire'),
  ]
  const until = `Until ${it.until}`
  if (it.complete) return `${until}: ${events.length === 0 ? 'nothing falls due or expires' : events.join(', ')}.`
  const found = events.length === 0 ? 'nothing was found' : `at least ${events.join(', ')}`
  return `${until}: ${found}. There are too many records to count all.`
}
