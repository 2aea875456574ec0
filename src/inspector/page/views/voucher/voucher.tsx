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
      <Axis label="History of the voucher" rows={voucherRows(history)} />
      <p class="quiet">Verifications and replays are known since {dateTime(log_since)}.</p>
    </>
  )
}
