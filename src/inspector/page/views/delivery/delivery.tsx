import type { DeliveryDetail } from '../../../../contract/platform/deliveries.js'
import { Heading, Loaded, PlantedFault } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { faultOf, outcomeOf } from '../../model/delivery-outcome.js'
import { deliveryRows } from '../../model/delivery-rows.js'
import type { ViewProps } from '../../router.js'
import { log } from '../../stream.js'
import { Axis } from '../axis.js'
import { Members } from '../members.js'
import { StateBadge } from '../state-badge.js'
import { Advice } from './advice.js'
import { Replay } from './replay.js'
import { Signature } from './signature.js'

/** A delivery: the cause of a failure, replay, attempts and responses on one axis, and the signature. */
export function DeliveryView({ params: { id = '' } }: ViewProps) {
  const view = (detail: DeliveryDetail, reload: () => void) => (
    <>
      <p>
        {StateBadge(detail.delivery)} {detail.delivery.update_type} for {detail.bot_name}
      </p>
      <Cause {...detail} />
      <Replay detail={detail} reload={reload} />
      <section>
        <h2>What happened</h2>
        <Axis label="Attempts and responses" rows={deliveryRows(detail, log.entries)} openNewest />
        {detail.responses.length === 0 && <p class="quiet">Responses are captured only while a page is open.</p>}
      </section>
      <Members of={{ ...detail, ...detail.delivery }} names={['id', 'update_id', 'url', 'voucher_id', 'bot_id']} />
      <Signature detail={detail} />
    </>
  )
  const about = (it: Entry) => it.id === id
  return (
    <article>
      <Heading>Delivery</Heading>
      <Loaded path={`/deliveries/${encodeURIComponent(id)}`} on={['clock']} about={about} view={view} />
    </article>
  )
}

/** The problem, its cause and the fix. */
function Cause(detail: DeliveryDetail) {
  const { verification, hints } = detail
  const [tone, title] = outcomeOf(detail)
  const fault = faultOf(detail)
  return (
    <section class={`cause ${tone}`} aria-label="Result">
      <p>
        <strong>{title}</strong> <PlantedFault kind={fault} />
      </p>
      <Advice verification={fault ? null : verification} hints={tone === 'bad' ? hints : []} />
    </section>
  )
}
