import { useMemo } from 'preact/hooks'
import { sessionEnded } from './api.js'
import { Badge, Loading, Status, TextFilter } from './components.js'
import { ExampleOffer } from './example-offer.js'
import type { Entry } from './model/activity-log.js'
import { filterNames, filterOf, statuses } from './model/filter.js'
import { count, dateTime, duration } from './model/format.js'
import { Name, nameOf } from './name.js'
import { choose, chosen, recording, startRecording, toggle } from './recording-choice.js'
import { linkTo, place, setFilter, setQuery } from './router.js'
import { signal } from './signal.js'
import { features } from './state.js'
import { complete, connection, log, logVersion } from './stream.js'
import { HeldCalls } from './views/state/held-calls.js'
import { VirtualList } from './virtual-list.js'

/** Key of the entry from which the keys j and k move; kept while another view is open. */
const selected = signal<string | null>(null)

export function StreamView() {
  const { query } = place.value
  const version = logVersion.value
  // Filter all entries again: 10,000 take less than 2 ms.
  const entries = useMemo(() => log.entries.filter(filterOf(query)).reverse(), [version, query])
  const open = openIn(entries)
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
          selected={selected}
          open={open}
          row={(it, ariaIndex) => rowOf(it, ariaIndex, it.key === open)}
        />
      )}
    </section>
  )
}

/** Key of the entry whose detail is open: the selected one of the attempts of a delivery. */
function openIn(entries: readonly Entry[]): string | undefined {
  const [, , id] = place.value.path.split('/')
  const found = entries.filter((it) => it.id === id)
  return (found.find((it) => it.key === selected.value) ?? found[0])?.key
}

function Empty() {
  if (sessionEnded.value) return null
  if (connection.value === 'Connecting') return Loading()
  if (log.entries.length > 0) return <p class="empty">No entry passes these filters.</p>
  return <p class="empty">Nothing happened yet: calls and deliveries appear here as they happen.</p>
}

function Filters({ query, found }: { readonly query: URLSearchParams; readonly found: number }) {
  const value = (name: string) => query.get(name) ?? ''
  const valuesOf = (name: 'type' | 'owner') => {
    const known = new Set(log.entries.map((it) => it[name]).filter((it) => it !== null))
    return [...known].sort().map((it) => [it, nameOf(it)] as const)
  }
  const types = [['requests', 'All requests'], ['deliveries', 'All deliveries'], ...valuesOf('type')] as const
  const choice = (name: string, label: string, options: readonly (readonly [string, string])[]) => {
    const own = value(name)
    const listed = own === '' || options.some(([it]) => it === own) ? options : [...options, [own, own] as const]
    return (
      <label>
        <span>{label}</span>
        <select value={own} onChange={(event) => setFilter(name, event.currentTarget.value)}>
          <option value="">All</option>
          {listed.map(([it, text]) => (
            <option key={it} value={it}>
              {text}
            </option>
          ))}
        </select>
      </label>
    )
  }
  const isFiltered = filterNames.some((name) => query.has(name))
  const total = log.entries.length
  return (
    <form class="filters" role="search" aria-label="Filter of the stream" onSubmit={(event) => event.preventDefault()}>
      <TextFilter name="find" label="Text" />
      {choice('type', 'Type', types)}
      {choice('status', 'Status', Object.entries(statuses))}
      {choice('application', 'Application or bot', valuesOf('owner'))}
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

const headings = (
  <tr aria-rowindex={1}>
    <th scope="col" class="time">
      Time
    </th>
    <th scope="col" class="type">
      Type
    </th>
    <th scope="col" class="state">
      Status
    </th>
    <th scope="col" class="wide">
      Voucher
    </th>
    <th scope="col" class="wide">
      Application or bot
    </th>
    <th scope="col" class="wide number ms">
      Duration
    </th>
  </tr>
)

function rowOf(entry: Entry, ariaIndex: number, isOpen: boolean) {
  const { kind, line } = entry
  const isSelected = selected.value === entry.key
  return (
    <tr
      key={entry.key}
      class={`entry ${isSelected ? 'selected' : ''}`}
      aria-rowindex={ariaIndex}
      aria-current={isOpen ? 'true' : undefined}
    >
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
        <a
          href={entryLink(entry)}
          onFocus={() => {
            selected.value = entry.key
          }}
        >
          {entry.type}
        </a>
        {marksOf(entry).map(([tone, text]) => (
          <>
            {' '}
            <Badge tone={tone}>{text}</Badge>
          </>
        ))}
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

function marksOf({ replayed, fault, line }: Entry): readonly (readonly ['note' | 'warn', string])[] {
  return [
    ...(replayed ? ([['note', 'replay']] as const) : []),
    ...(line.kind === 'request' && line.request.by_operator ? ([['warn', 'operator']] as const) : []),
    ...(fault ? ([['warn', 'fault']] as const) : []),
  ]
}

const attemptOf = (attempt: number | null) => (attempt !== null && attempt > 1 ? `attempt ${attempt}` : '')
