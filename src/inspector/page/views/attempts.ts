import type { Delivery, DeliveryAttempt } from '../../../contract/webhook.js'
import { Badge, Status, Time, type Tone } from '../components.js'
import { duration } from '../format.js'
import { html } from '../html.js'
import { wordsOf } from './members.js'

export const deliveryTones: Readonly<Record<Delivery['status'], Tone>> = {
  pending: 'note',
  delivering: 'note',
  delivered: 'good',
  failed: 'warn',
  dead_letter: 'bad',
  cancelled: 'plain',
}

export function DeliveryBadge({ status }: Pick<Delivery, 'status'>) {
  return html`<${Badge} tone=${deliveryTones[status]}>${wordsOf(status)}<//>`
}

/** One attempt of a delivery: when, how it ended, how long it took. */
export function AttemptLine({ started_at, status_code, error, duration_ms, manual }: DeliveryAttempt) {
  return html`<li><${Status} status=${status_code} /> <${Time} at=${started_at} /> <span class="quiet">${duration(duration_ms)}${manual && ', by hand'}</span>
    ${error && error.code !== 'http_status' && html` ${error.message}`}</li>`
}
