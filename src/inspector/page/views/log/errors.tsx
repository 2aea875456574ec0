import { useState } from 'preact/hooks'
import type { Reference } from '../../../../contract/platform/reference.js'
import { overview } from '../../attention.js'
import { Badge, Heading, Loading, PlantedFault, Status, Time, useRead } from '../../components.js'
import type { Entry } from '../../model/activity-log.js'
import { type ErrorGroup, errorGroups } from '../../model/error-groups.js'
import { count } from '../../model/format.js'
import { currentIf, linkTo } from '../../router.js'
import { complete, log, logVersion } from '../../stream.js'

/** Calls of a group in the view; the stream has all. */
const SHOWN_MAX = 20
/** Groups of at most this many calls are open. */
const FEW = 3

/** What failed in the last hour as the server counts it, with its meaning and the calls behind it. */
export function ErrorsView() {
  logVersion.value
  const { result } = useRead<Reference>('/reference')
  const counted = overview.value
  if (counted === null) return Loading()
  const failures = result?.ok ? result.data.failures : []
  const groups = errorGroups(counted, log.entries)
  const { failed_calls: calls, failed_attempts: attempts } = counted
  return (
    <article>
      <Heading>Errors</Heading>
      <p class="quiet">
        Calls and attempts of deliveries that failed in the last hour.
        {calls.since > attempts.since && (
          <>
            {' '}
            Calls are counted since <Time at={calls.since} />, when the server started or its state was replaced.
          </>
        )}
        {!attempts.complete && ' There are too many attempts to count all.'}
      </p>
      {groups.length === 0 && <p class="empty">Nothing failed.</p>}
      {groups.map((group) => (
        <Group
          key={`${group.kind} ${group.name}`}
          group={group}
          atLeast={group.kind === 'delivery' && !attempts.complete}
          failure={failures.find(({ code }) => code === group.name)}
        />
      ))}
    </article>
  )
}

interface GroupProps {
  readonly group: ErrorGroup
  readonly atLeast: boolean
  readonly failure: Reference['failures'][number] | undefined
}

function Group({ group: { kind, name, status, count: times, entries }, atLeast, failure }: GroupProps) {
  const [first] = entries
  // A longer list does not close what the user reads.
  const [isOpen] = useState(times <= FEW)
  const message = failure?.message ?? (first?.line.kind === 'delivery' ? first.line.delivery.error?.message : null)
  const isRequest = kind === 'request'
  return (
    <section class={`cause ${status === null || status >= 500 ? 'bad' : 'warn'}`} aria-label={name}>
      <h2>
        <Badge tone="bad">
          {atLeast && 'at least '}
          {count(times)} ×
        </Badge>{' '}
        <span class="code">{failure ? <a href={linkTo(['reference'], { find: name })}>{name}</a> : name}</span>{' '}
        <Status status={status} />
      </h2>
      {message && (
        <p>
          {message} {failure?.fix}
        </p>
      )}
      {complete.value && entries.length < times && (
        <p class="quiet">
          {first ? `The stream has ${count(entries.length)} of them.` : 'The stream has none of them.'}
        </p>
      )}
      {first && (
        <>
          <p class="quiet">
            Last <Time at={first.at} />
          </p>
          <details open={isOpen}>
            <summary>{isRequest ? 'Calls' : 'Deliveries'}</summary>
            <ul class="rows">{entries.slice(0, SHOWN_MAX).map(lineOf)}</ul>
            {entries.length > SHOWN_MAX && (
              <a href={linkTo([], { status: isRequest ? name : 'failed' })}>All in the stream</a>
            )}
          </details>
        </>
      )}
    </section>
  )
}

function lineOf({ key, kind, id, type, at, voucher, fault }: Entry) {
  const link = linkTo([kind === 'request' ? 'requests' : 'deliveries', id])
  return (
    <li key={key} aria-current={currentIf(link)}>
      <a href={link}>
        {type} <small class="id">{id}</small>
      </a>
      <PlantedFault kind={fault} />
      {voucher && <a href={linkTo(['vouchers', voucher])}>Voucher</a>}
      <Time at={at} />
    </li>
  )
}
