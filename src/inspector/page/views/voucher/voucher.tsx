import type { VoucherEvent, VoucherHistory } from '../../../../contract/platform/voucher-history.js'
import { Heading, Loaded, Time } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { dateTime } from '../../model/format.js'
import { type LifeItem, lifeOf } from '../../model/voucher-life.js'
import { linkTo, type ViewProps } from '../../router.js'
import { Actions } from '../actions.js'
import { AttemptLine } from '../delivery/attempt-line.js'
import { Members } from '../members.js'
import { StateBadge, tones } from '../state-badge.js'
import { actionsOn } from './voucher-actions.js'

/** Timeline of a voucher with past and future events. */
export function VoucherView({ params: { id = '' } }: ViewProps) {
  return (
    <article>
      <Heading>Voucher</Heading>
      <Loaded
        path={`/vouchers/${encodeURIComponent(id)}`}
        on={['clock']}
        about={(it: Entry) => it.voucher === id}
        view={(it: VoucherHistory, reload: () => void) => <Life history={it} reload={reload} />}
      />
    </article>
  )
}

const members = [
  'name',
  'id',
  'templateId',
  'applicationId',
  'recipientUserId',
  'externalIssueId',
  'codeHint',
  'validFrom',
  'validUntil',
]
const lists = {
  templateId: ['templates'],
  recipientUserId: ['vouchers', 'recipient_user_id'],
  externalIssueId: ['vouchers', 'external_issue_id'],
} as const

function Life({ history, reload }: { readonly history: VoucherHistory; readonly reload: () => void }) {
  const { voucher, older_redemptions, log_since } = history
  return (
    <>
      <p>{StateBadge(voucher)}</p>
      <Members of={voucher} names={members} links={lists} />
      <Actions of={voucher.name} actions={actionsOn(voucher)} done={reload} />
      {older_redemptions && <p class="quiet">Only the newest redemptions are shown.</p>}
      <ol class="life">
        {lifeOf(history).map((item) => (
          <Item {...item} />
        ))}
      </ol>
      <p class="quiet">Verifications and replays are known since {dateTime(log_since)}.</p>
    </>
  )
}

function Item({ title, at, gap, event }: LifeItem) {
  return (
    <li class={event ? tones[event.type] : 'future'}>
      <h2>
        {title}{' '}
        <small>
          <Time at={at} /> {gap}
        </small>
      </h2>
      {event && <Details {...event} />}
    </li>
  )
}

const details = [
  'request_id',
  'idempotency_key',
  'token_prefix',
  'token_name',
  'bot_id',
  'redemption_id',
  'reference',
  'reason',
]

function Details(event: VoucherEvent) {
  const { message, updates } = event
  return (
    <>
      {event.by_operator && <p>By the operator of this server.</p>}
      <Members of={event} names={details} links={{ request_id: ['requests'] }} />
      {message && (
        <p>
          Message {message.message_id} in <a href={linkTo(['chats', message.chat_id])}>{message.chat_id}</a>
        </p>
      )}
      {updates.map(({ update_id, type, bot_id, pending, delivery }) => (
        <>
          <p>
            Update {update_id}, {type}, for {bot_id}
            {': '}
            {delivery ? (
              <>
                <a href={linkTo(['deliveries', delivery.id])}>{delivery.id}</a> {StateBadge(delivery)}
              </>
            ) : (
              <span class="quiet">{pending ? 'not polled yet' : 'not waiting any more'}</span>
            )}
          </p>
          <ul>
            {delivery?.attempts.map((attempt) => (
              <AttemptLine {...attempt} />
            ))}
          </ul>
        </>
      ))}
    </>
  )
}
