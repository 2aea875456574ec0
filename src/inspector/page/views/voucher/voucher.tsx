import type { VoucherHistory } from '../../../../contract/platform/voucher-history.js'
import { Heading, Loaded } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { dateTime } from '../../model/format.js'
import { voucherRows } from '../../model/voucher-rows.js'
import type { ViewProps } from '../../router.js'
import { Actions } from '../actions.js'
import { Axis } from '../axis.js'
import { Members } from '../members.js'
import { StateBadge } from '../state-badge.js'
import { actionsOn } from './voucher-actions.js'

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
  recipientUserId: ['vouchers', 'recipient_user_id'],
  externalIssueId: ['vouchers', 'external_issue_id'],
} as const

/** A voucher, what can be done with it, and what happened and will happen to it. */
export function VoucherView({ params: { id = '' } }: ViewProps) {
  const view = (history: VoucherHistory, reload: () => void) => (
    <>
      <Heading more={StateBadge(history.voucher)}>Voucher</Heading>
      <Members of={history.voucher} names={members} links={lists} />
      <Actions of={history.voucher.name} actions={actionsOn(history.voucher)} done={reload} />
      {history.older_redemptions && <p class="quiet">Only the newest redemptions are shown.</p>}
      <Axis label="History of the voucher" rows={voucherRows(history)} />
      <p class="quiet">Verifications and replays are known since {dateTime(history.log_since)}.</p>
    </>
  )
  const about = (it: Entry) => it.voucher === id
  return (
    <article>
      <Loaded path={`/vouchers/${encodeURIComponent(id)}`} on={['clock']} about={about} heading="Voucher" view={view} />
    </article>
  )
}
