import { numberText } from '../output/text.js'
import { WAITING_MAX } from './connection-queue.js'
import { failsForTemplate, type LoadReport, NO_VOUCHER } from './report.js'

/** Says what kept the run below the requested rate, and what to change; undefined if nothing did. */
export function limitOf({ limited_by, generator }: LoadReport): string | undefined {
  if (limited_by === 'generator')
    return `This machine is the limit rather than the server: one call in a hundred started ${Math.round(generator.late_p99_ms ?? 0)} ms late or later (CPU ${generator.cpu_percent} % of a core), which the latencies include. Lower --rate, or use a faster machine.`
  if (limited_by === 'connections')
    return `Calls were not sent, because all ${numberText(generator.connections)} connections to an address were busy and ${numberText(WAITING_MAX)} calls waited. Repeat with more --connections: if that changes nothing, the server is the limit.`
  return undefined
}

/** Advice for a 429 of a server that the user runs. */
export const rateLimitAdvice =
  'A local server limits nothing after `voucherctl server stop` and `voucherctl server start --rate-limit off`.'

/** Says how to make a template that fits a load, if calls failed for the template. @param errors failed calls by code */
export const templateAdvice = (errors: object): string | undefined =>
  failsForTemplate(errors)
    ? 'Quota or validity of the template refused calls. Make a template for load tests: `voucherctl templates create --external-id load --name Load --type gift --issuer-name Load --fulfiller-name Load --fulfillment-category offline_service --acquisition-source free_claim --valid-days 365 --issue-limit 1000000000 --submit`. On a local server, approve it: `voucherctl platform templates approve load`. Then use --template load.'
    : undefined

/** Explains failures that say nothing about the speed of the server; undefined without such failures. */
export function adviceOf({ all }: LoadReport): string | undefined {
  if ('RATE_LIMITED' in all.errors) return `The server limits the rate (429). ${rateLimitAdvice}`
  if (NO_VOUCHER in all.errors)
    return `${NO_VOUCHER} counts redeem calls for which no voucher was left, because issue calls failed or took long.`
  return undefined
}
