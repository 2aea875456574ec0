import type { voucherStatuses } from '../../../contract/platform/voucher-history.js'
import type { Voucher } from '../../../contract/vouchers.js'
import { type Column, Heading, Time } from '../components.js'
import { linkTo, setQuery, type ViewProps } from '../router.js'
import { List } from './list.js'
import { StateBadge, stateOptions } from './state-badge.js'

const states: readonly (typeof voucherStatuses)[number][] = ['issued', 'redeemed', 'expired']

const filters = {
  template_id: 'Template',
  recipient_user_id: 'Recipient',
  external_issue_id: 'External id',
}

/** Vouchers of all applications, the newest first. */
export function VouchersView({ query }: ViewProps) {
  const search = (event: Event) => {
    event.preventDefault()
    const fields = [...new FormData(event.currentTarget as HTMLFormElement)] as [string, string][]
    setQuery(new URLSearchParams(fields.flatMap(([name, value]) => (value.trim() ? [[name, value.trim()]] : []))))
  }
  return (
    <article>
      <Heading>Vouchers</Heading>
      <form class="filters" role="search" onSubmit={search} onChange={search}>
        {Object.entries(filters).map(([name, label]) => (
          <label>
            <span>{label}</span>
            <input name={name} type="search" value={query.get(name) ?? ''} />
          </label>
        ))}
        <label>
          <span>State</span>
          <select name="status" value={query.get('status') ?? ''}>
            {stateOptions(states)}
          </select>
        </label>
      </form>
      <List name="vouchers" query={query} columns={columns} about={({ voucher }) => voucher !== null} />
    </article>
  )
}

const columns: readonly Column<Voucher>[] = [
  { head: 'Voucher', cell: (it) => <a href={linkTo(['vouchers', it.id])}>{it.name}</a> },
  { head: 'State', cell: StateBadge },
  { head: 'Recipient', cell: (it) => it.recipientUserId },
  { head: 'External id', cell: (it) => it.externalIssueId, look: 'wide' },
  { head: 'Code ends in', cell: (it) => it.codeHint, look: 'wide' },
  { head: 'Issued', cell: (it) => <Time at={it.issuedAt} /> },
]
