import type { DeliveryDetail } from '../../../../contract/platform/deliveries.js'
import { Heading, Loaded, PlantedFault } from '../../components.js'
import { Linked } from '../../linked.js'
import type { Entry } from '../../model/activity-log.js'
import { faultOf, outcomeOf } from '../../model/delivery-outcome.js'
import { deliveryRows } from '../../model/delivery-rows.js'
import type { ViewProps } from '../../router.js'
import { log } from '../../stream.js'
import { Axis } from '../axis.js'
import { Members } from '../members.js'
import { StateBadge } from '../state-badge.js'
import { Replay } from './replay.js'
import { Signature } from './signature.js'

/** A delivery: the cause of a failure, replay, attempts and responses on one axis, and the signature. */
export function DeliveryView({ params: { id = '' } }: ViewProps) {
  return (
    <article>
      <Heading>Delivery</Heading>
      <Loaded
        path={`/deliveries/${encodeURIComponent(id)}`}
        on={['clock']}
        about={(it: Entry) => it.id === id}
        view={(it: DeliveryDetail, reload: () => void) => <Detail detail={it} reload={reload} />}
      />
    </article>
  )
}

function Detail({ detail, reload }: { readonly detail: DeliveryDetail; readonly reload: () => void }) {
  const { delivery, bot_name, url, voucher_id, responses } = detail
  return (
    <>
      <p>
        {StateBadge(delivery)} {delivery.update_type} for {bot_name}
      </p>
      <Cause {...detail} />
      <Replay detail={detail} reload={reload} />
      <section>
        <h2>What happened</h2>
        <Axis label="Attempts and responses" rows={deliveryRows(detail, log.entries)} openNewest />
        {responses.length === 0 && <p class="quiet">No response was captured: they are only while a page is open.</p>}
      </section>
      <Members of={{ ...delivery, url, voucher_id }} names={['id', 'update_id', 'url', 'voucher_id', 'bot_id']} />
      <Signature detail={detail} />
    </>
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
      {verification && !verification.ok && !fault && (
        <p>
          {verification.explanation} {verification.fix}
        </p>
      )}
      {tone === 'bad' && (
        <ul>
          {hints.map((hint) => (
            <li>
              <Linked text={hint.text} />
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
