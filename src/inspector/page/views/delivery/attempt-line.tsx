import type { DeliveryAttempt } from '../../../../contract/webhook.js'
import { PlantedFault, Status, Time } from '../../components.js'
import { duration } from '../../model/format.js'

/** One attempt of a delivery: its time, outcome and duration. */
export function AttemptLine({ started_at, status_code, error, duration_ms, manual, fault }: DeliveryAttempt) {
  return (
    <li>
      <Status status={status_code} /> <PlantedFault kind={fault} /> <Time at={started_at} />{' '}
      <span class="quiet">
        {duration(duration_ms)}
        {manual && ', by hand'}
      </span>
      {error && error.code !== 'http_status' && <> {error.message}</>}
    </li>
  )
}
