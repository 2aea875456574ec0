import { voucherStatuses } from '../../../../contract/page-choices.js'
import type { Voucher } from '../../../../contract/vouchers.js'
import { type Column, Heading, SelectFilter, TextFilter, Time } from '../../components.js'
import { linkTo, type ViewProps } from '../../router.js'
import { List } from '../list.js'
import { StateBadge, stateChoices } from '../state-badge.js'

const filters = { template_id: 'Template', recipient_user_id: 'Recipient', external_issue_id: 'External id' }

/** Vouchers of all applications, the newest first. */
export function VouchersView({ query }: ViewProps) {
  return (
    <article>
      <Heading>Vouchers</Heading>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        {Object.entries(filters).map(([name, label]) => (
          <TextFilter key={name} name={name} label={label} />
        ))}
        <SelectFilter name="status" label="State" choices={stateChoices(voucherStatuses)} />
      </form>
      <List name="vouchers" query={query} columns={columns} about={({ voucher }) => voucher !== null} />
    </article>
  )
}

const columns: readonly Column<Voucher>[] = [
  {
    head: 'Voucher',
    cell: (it) => (
      <a href={linkTo(['vouchers', it.id])}>
        {it.name} <small class="id quiet wide">{it.id}</small>
      </a>
    ),
  },
  { head: 'State', cell: StateBadge },
  { head: 'Recipient', cell: (it) => it.recipientUserId, sort: 'recipient_user_id' },
  { head: 'External id', cell: (it) => it.externalIssueId, look: 'wide', sort: 'external_issue_id' },
  { head: 'Code ends in', cell: (it) => it.codeHint, look: 'wide' },
  { head: 'Valid from', cell: (it) => <Time at={it.validFrom} />, look: 'wide' },
  { head: 'Valid until', cell: (it) => <Time at={it.validUntil} />, look: 'wide' },
  { head: 'Issued', cell: (it) => <Time at={it.issuedAt} />, look: 'wide', sort: 'issued_at' },
]
