import { useState } from 'preact/hooks'
import type { Reference } from '../../../../contract/platform/reference.js'
import { Badge, Heading, PlantedFault, Status, Time, useRead } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { type ErrorGroup, errorGroups } from '../../model/error-groups.js'
import { count } from '../../model/format.js'
import { linkTo } from '../../router.js'
import { serverNow } from '../../state.js'
import { log, logVersion } from '../../stream.js'
import { Choice } from '../choice.js'

const HOUR_MS = 3_600_000
/** Calls of a group in the view; the stream has all. */
const SHOWN_MAX = 20
/** Groups of at most this many calls are open. */
const FEW = 3

const periods = [
  ['hour', 'Last hour'],
  ['all', 'All'],
] as const

/** What failed, grouped by code, with its meaning and the calls behind it. */
export function ErrorsView() {
  logVersion.value
  const [period, setPeriod] = useState<'hour' | 'all'>('hour')
  const { result } = useRead<Reference>('/reference')
  const groups = errorGroups(log.entries, period === 'hour' ? serverNow() - HOUR_MS : 0)
  const failures = result?.ok ? result.data.failures : []
  return (
    <article>
      <Heading more={<Choice label="Period" options={periods} value={period} choose={setPeriod} />}>Errors</Heading>
      {groups.length === 0 && (
        <p class="empty">{period === 'hour' ? 'Nothing failed in the last hour.' : 'Nothing failed.'}</p>
      )}
      {groups.map((group) => (
        <Group key={group.code} group={group} failure={failures.find(({ code }) => code === group.code)} />
      ))}
    </article>
  )
}

interface GroupProps {
  readonly group: ErrorGroup
  readonly failure: Reference['failures'][number] | undefined
}

function Group({ group: { code, status, count: times, entries }, failure }: GroupProps) {
  const [first] = entries
  // A longer list does not close what the user reads.
  const [isOpen] = useState(times <= FEW)
  const message = failure?.message ?? (first?.line.kind === 'delivery' ? first.line.delivery.error?.message : null)
  const isRequest = first?.kind === 'request'
  return (
    <section class={`cause ${status === null || status >= 500 ? 'bad' : 'warn'}`} aria-label={code}>
      <h2>
        <Badge tone="bad">{count(times)} ×</Badge>{' '}
        <span class="code">{failure ? <a href={linkTo(['reference'], { find: code })}>{code}</a> : code}</span>{' '}
        <Status status={status} />
      </h2>
      {message && (
        <p>
          {message} {failure?.fix}
        </p>
      )}
      <p class="quiet">Last {first && <Time at={first.at} />}</p>
      <details open={isOpen}>
        <summary>{isRequest ? 'Calls' : 'Deliveries'}</summary>
        <ul class="rows">{entries.slice(0, SHOWN_MAX).map(lineOf)}</ul>
        {times > SHOWN_MAX && <a href={linkTo([], { status: isRequest ? code : 'failed' })}>All in the stream</a>}
      </details>
    </section>
  )
}

const lineOf = ({ key, kind, id, type, at, voucher, fault }: Entry) => (
  <li key={key}>
    <a href={linkTo([kind === 'request' ? 'requests' : 'deliveries', id])}>
      {type} <small class="id">{id}</small>
    </a>
    <PlantedFault kind={fault} />
    {voucher && <a href={linkTo(['vouchers', voucher])}>Voucher</a>}
    <Time at={at} />
  </li>
)
