import type { OutputOf } from '../../../../contract/endpoint.js'
import type { FoundRecord, platformActing } from '../../../../contract/platform/acting.js'
import type { Result } from '../../api.js'
import { type Column, Failed, Heading, PlantedFault, Status, Table, Time } from '../../components.js'
import { linkOf } from '../../linked.js'
import { makeCall } from '../../make-call.js'
import type { Entry } from '../../model/activity-log.js'
import { findInLog } from '../../model/find-in-log.js'
import { linkTo, visit } from '../../router.js'
import { signal } from '../../signal.js'
import { announce, features } from '../../state.js'
import { log } from '../../stream.js'
import { entryLink } from '../../stream-view.js'

interface Found {
  /** Null for a listener, which has no records. */
  readonly records: Result<OutputOf<typeof platformActing.find>> | null
  readonly entries: readonly Entry[]
}

/** Kept in memory only: the text may be a code, which belongs into no address. */
const found = signal<Found | null>(null)

/** Finds records and entries of the log. Opens the only one, else lists them. @returns true if there is any */
export async function find(text: string): Promise<boolean> {
  const records: Found['records'] =
    features.value?.source === 'server' ? await makeCall({ endpoint: 'platform.find', input: { text } }) : null
  const entries = findInLog(log.entries, text)
  const items = records?.ok ? records.data.items : []
  const links = items.length > 0 ? items.map((it) => linkOf(it.id)) : entries.map(entryLink)
  found.value = { records, entries }
  visit(records?.ok !== false && links.length === 1 && links[0] ? links[0] : linkTo(['find']))
  if (links.length === 0) announce('Nothing was found.')
  return links.length > 0
}

/** Records and entries of the log that the field of the header found. */
export function FindView() {
  const { records, entries } = found.value ?? {}
  return (
    <article>
      <Heading>Find</Heading>
      <p class="quiet">
        A code, an id, an own id, a recipient, a username or a name finds records; a word finds calls and deliveries
        whose bodies were kept.
      </p>
      {records && (
        <>
          <h2>Records</h2>
          {records.ok ? (
            <Table
              caption="Records"
              columns={columns}
              rows={records.data.items}
              keyOf={(it) => `${it.kind} ${it.id}`}
              empty={`No record has this code, id or name. ${records.data.note ?? ''}`}
            />
          ) : (
            Failed({ failure: records })
          )}
        </>
      )}
      {entries && (
        <>
          <h2>Calls and deliveries</h2>
          <Table
            caption="Calls and deliveries"
            columns={entryColumns}
            rows={entries}
            keyOf={(it) => it.key}
            empty="No entry of the log has this text."
          />
        </>
      )}
    </article>
  )
}

const columns: readonly Column<FoundRecord>[] = [
  { head: 'Kind', cell: (it) => it.kind },
  {
    head: 'Record',
    cell: ({ id, name }) => (
      <a href={linkOf(id) as string}>
        {name} <small class="id quiet">{id}</small>
      </a>
    ),
  },
  { head: 'Details', cell: (it) => it.detail, look: 'wide' },
]

const entryColumns: readonly Column<Entry>[] = [
  { head: 'Type', cell: (it) => <a href={entryLink(it)}>{it.type}</a> },
  {
    head: 'Status',
    cell: (it) => (
      <>
        <Status status={it.status} /> {it.code && <span class="code">{it.code}</span>} <PlantedFault kind={it.fault} />
      </>
    ),
  },
  { head: 'At', cell: (it) => <Time at={it.at} />, look: 'wide' },
]
