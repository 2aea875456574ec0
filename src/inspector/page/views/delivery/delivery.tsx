import type { DeliveryDetail } from '../../../../contract/platform/deliveries.js'
import { Heading, Loaded, PlantedFault, Time } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { faultOf, outcomeOf } from '../../model/delivery-outcome.js'
import type { ViewProps } from '../../router.js'
import { Members } from '../members.js'
import { StateBadge } from '../state-badge.js'
import { AttemptLine } from './attempt-line.js'
import { Replay } from './replay.js'
import { Response } from './response.js'
import { Signature } from './signature.js'

/** A delivery: the cause of a failure, signature, attempts, responses of the app, and replay. */
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
      <Members
        of={{ ...delivery, url, voucher_id }}
        names={['id', 'update_id', 'url', 'voucher_id', 'bot_id']}
        links={{ voucher_id: ['vouchers'] }}
      />
      <Signature detail={detail} />
      <Attempts {...detail} />
      <section>
        <h2>Responses of the app</h2>
        {responses.length > 0 ? (
          responses.toReversed().map((it, n) => <Response key={it.at + it.attempt} exchange={it} open={n === 0} />)
        ) : (
          <p class="empty">None was captured: responses are captured only while a page is open.</p>
        )}
      </section>
      <Replay detail={detail} reload={reload} />
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
            <li>{hint.text}</li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Attempts({ delivery: { attempts }, schedule }: DeliveryDetail) {
  return (
    <section>
      <h2>Attempts</h2>
      <ol class="attempts">
        {attempts.map((attempt) => (
          <AttemptLine {...attempt} />
        ))}
        {schedule.map(
          ({ at, state }) =>
            at &&
            (state === 'due' || state === 'later') && (
              <li class="future">
                <Time at={at} />{' '}
                <span class="quiet">
                  {state === 'due' ? 'the next attempt' : 'at the earliest, if those before fail'}
                </span>
              </li>
            ),
        )}
      </ol>
    </section>
  )
}
