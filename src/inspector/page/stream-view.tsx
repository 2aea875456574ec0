import { useMemo } from 'preact/hooks'
import { sessionEnded } from './api.js'
import { Badge, Loading, SelectFilter, Status, TextFilter } from './components.js'
import { ExampleOffer } from './example-offer.js'
import type { Entry } from './model/activity-log.js'
import { filterNames, filterOf, statuses } from './model/filter.js'
import { count, dateTime, duration } from './model/format.js'
import { Name, nameOf } from './name.js'
import { choose, chosen, recording, startRecording, toggle } from './recording-choice.js'
import { linkTo, place, setQuery } from './router.js'
import { features } from './state.js'
import { complete, connection, log, logVersion } from './stream.js'
import { HeldCalls } from './views/state/held-calls.js'
import { VirtualList } from './virtual-list.js'

export function StreamView() {
  const { query } = place.value
  const version = logVersion.value
  // Filter all entries again: 10,000 take less than 2 ms.
  const entries = useMemo(() => log.entries.filter(filterOf(query)).reverse(), [version, query])
  const id = place.value.path.split('/')[2]
  // A delivery has an entry for each attempt.
  const open = entries.find((it) => it.id === id)?.key
  const Form = recording.value
  return (
    <section class="stream">
      <h1 class="unseen" tabindex={-1}>
        Stream of requests and deliveries
      </h1>
      <ExampleOffer when={complete.value && log.entries.every((it) => it.isOfOperator)} />
      <Filters query={query} found={entries.length} />
      {Form && chosen.value && (
        <Form chosen={chosen.value} choose={choose} shown={entries.map((it) => it.id)} close={() => choose(null)} />
      )}
      {features.value?.views.includes('faults') && <HeldCalls />}
      {entries.length === 0 ? (
        <Empty />
      ) : (
        <VirtualList
          caption="Newest first"
          head={headings}
          items={entries}
          open={open}
          row={(it, ariaIndex) => rowOf(it, ariaIndex, it.key === open)}
        />
      )}
    </section>
  )
}

function Empty() {
  if (sessionEnded.value) return null
  if (connection.value === 'Connecting') return Loading()
  if (log.entries.length > 0) return <p class="empty">No entry passes these filters.</p>
  return <p class="empty">Nothing happened yet: calls and deliveries appear here as they happen.</p>
}

function Filters({ query, found }: { readonly query: URLSearchParams; readonly found: number }) {
  const valuesOf = (name: 'type' | 'owner') => {
    const known = new Set(log.entries.map((it) => it[name]).filter((it) => it !== null))
    return [...known].sort().map((it) => [it, nameOf(it)] as const)
  }
  const types = [['requests', 'All requests'], ['deliveries', 'All deliveries'], ...valuesOf('type')] as const
  const isFiltered = filterNames.some((name) => query.has(name))
  const total = log.entries.length
  return (
    <form class="filters" role="search" aria-label="Filter of the stream" onSubmit={(event) => event.preventDefault()}>
      <TextFilter name="find" label="Text" />
      <SelectFilter name="type" label="Type" choices={types} />
      <SelectFilter name="status" label="Status" choices={Object.entries(statuses)} />
      <SelectFilter name="application" label="Application or bot" choices={valuesOf('owner')} />
      <TextFilter name="voucher" label="Voucher id" />
      <p class="quiet">
        {isFiltered ? `${count(found)} of ${count(total)}` : count(total)}
        {log.omitted > 0 && ` (${count(log.omitted)} left out)`}
        {isFiltered && (
          <>
            {' '}
            <button type="button" class="small" onClick={() => setQuery(new URLSearchParams())}>
              Show all
            </button>
          </>
        )}
      </p>
      {features.value?.source === 'server' && !chosen.value && (
        <button type="button" class="small" onClick={startRecording}>
          Record a scenario …
        </button>
      )}
    </form>
  )
}

export const entryLink = (it: Entry): string => linkTo([it.kind === 'request' ? 'requests' : 'deliveries', it.id])

const columns = [
  ['Time', 'time'],
  ['Type', 'type'],
  ['Status', 'state'],
  ['Voucher', 'wide'],
  ['Application or bot', 'wide'],
  ['Duration', 'wide number ms'],
] as const

const headings = (
  <tr aria-rowindex={1}>
    {columns.map(([head, look]) => (
      <th scope="col" class={look}>
        {head}
      </th>
    ))}
  </tr>
)

function rowOf(entry: Entry, ariaIndex: number, isOpen: boolean) {
  const { kind, line } = entry
  return (
    <tr key={entry.key} class="entry" aria-rowindex={ariaIndex} aria-current={isOpen ? 'true' : undefined}>
      <td class="time">
        <time datetime={entry.at} title={entry.at}>
          <span class="wide">{entry.at.slice(0, 10)} </span>
          {dateTime(entry.at).slice(11)}
        </time>
      </td>
      <td class="type" title={entry.type}>
        {chosen.value && (
          <input
            type="checkbox"
            aria-label={`${entry.type} at ${dateTime(entry.at)}`}
            checked={chosen.value.has(entry.id)}
            onChange={() => toggle(entry.id)}
          />
        )}
        <span class={`kind ${kind}`}>
          {kind === 'request' ? '→' : '↗'}
          <span class="unseen">{kind}</span>
        </span>
        <a href={entryLink(entry)}>{entry.type}</a> {entry.replayed && <Badge tone="note">replay</Badge>}{' '}
        {line.kind === 'request' && line.request.by_operator && <Badge tone="warn">operator</Badge>}{' '}
        {entry.fault && <Badge tone="warn">fault</Badge>}
        <span class="quiet wide">
          {' '}
          {line.kind === 'request' ? line.request.method : attemptOf(line.delivery.attempt)}
        </span>
      </td>
      <td class="state" title={entry.code ?? undefined}>
        <Status status={entry.status} /> {entry.code && <span class="code">{entry.code}</span>}
      </td>
      <td class="wide id" title={entry.voucher ?? undefined}>
        {entry.voucher}
      </td>
      <td class="wide" title={entry.owner ? `${nameOf(entry.owner)} ${entry.owner}` : undefined}>
        {entry.owner && <Name id={entry.owner} to={null} />}
      </td>
      <td class="wide number ms">{duration(entry.ms)}</td>
    </tr>
  )
}

const attemptOf = (attempt: number | null) => (attempt !== null && attempt > 1 ? `attempt ${attempt}` : '')
