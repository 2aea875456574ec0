import { useState } from 'preact/hooks'
import type { Snapshot } from '../../../../contract/platform/controls.js'
import type { Totals } from '../../../../contract/platform/platform.js'
import { read } from '../../api.js'
import { type Column, Heading, Loaded, Table, Time } from '../../components.js'
import { makeCall } from '../../make-call.js'
import { count, plural } from '../../model/format.js'
import { clockSentence, ITEMS_MAX, type Kind, kinds, listOf, madeSince } from '../../model/loss.js'
import { announce, features, readClock, serverNow } from '../../state.js'
import { confirm } from './confirm.js'

/** Snapshots of the state: save one, return to one, or begin again. Each says beforehand what is lost. */
export function StateView() {
  return (
    <article>
      <Heading>State</Heading>
      <p class="quiet">Save everything that this server stores under a name, try something, and return to it.</p>
      <section>
        <h2>Snapshots</h2>
        <Loaded path="/snapshots" on={['clock']} view={listed} />
      </section>
      <section>
        <h2>Begin again</h2>
        <p class="quiet">
          A reset returns to the state of the start: the records of the seed, or none. Snapshots stay.
        </p>
        <button class="danger" onClick={() => replace('Reset')}>
          Reset …
        </button>
      </section>
    </article>
  )
}

function listed({ items }: { readonly items: readonly Snapshot[] }, reload: () => void) {
  const button = (what: string, { name }: Snapshot, onClick: () => void) => (
    <button class="small" aria-label={`${what} ${name}`} onClick={onClick}>
      {what} …
    </button>
  )
  const remove = async (it: Snapshot) => {
    if (!(await mayLose(it, 'Remove'))) return
    const call = { endpoint: 'platform.removeSnapshot', input: { name: it.name } } as const
    if ((await makeCall(call, `Removed ${it.name}.`)).ok) reload()
  }
  const columns: readonly Column<Snapshot>[] = [
    { head: 'Snapshot', cell: (it) => <strong>{it.name}</strong> },
    // The time of the server's clock: the other times of the page are by it too.
    { head: 'Saved', cell: (it) => <Time at={it.clock} /> },
    { head: 'Vouchers', cell: (it) => count(it.vouchers), look: 'number' },
    {
      head: 'Actions',
      cell: (it) => (
        <span class="actions">
          {button('Restore', it, () => replace('Restore', it))} {button('Remove', it, () => remove(it))}
        </span>
      ),
    },
  ]
  const rows = items.toReversed()
  return (
    <>
      <Save snapshots={items} saved={reload} />
      <Table caption="Snapshots" columns={columns} rows={rows} keyOf={(it) => it.name} empty="No snapshot yet." />
    </>
  )
}

/** Asks before a snapshot is lost. */
function mayLose({ name, clock, vouchers }: Snapshot, what: string): Promise<boolean> {
  const text = (
    <>
      <h2>
        {what} {name}?
      </h2>
      <p>
        The snapshot of <Time at={clock} /> with {plural(vouchers, 'vouchers')} is lost. The server keeps its state.
      </p>
    </>
  )
  return confirm(text, what)
}

function Save({ snapshots, saved }: { readonly snapshots: readonly Snapshot[]; readonly saved: () => void }) {
  const [name, setName] = useState('')
  const save = async (event: Event) => {
    event.preventDefault()
    const old = snapshots.find((it) => it.name === name)
    if (old && !(await mayLose(old, 'Replace'))) return
    if (!(await makeCall({ endpoint: 'platform.saveSnapshot', input: { name } }, `Saved ${name}.`)).ok) return
    setName('')
    saved()
  }
  return (
    <form class="filters" onSubmit={save}>
      <label>
        <span>Name</span>
        <input value={name} required placeholder="before-the-sale" onInput={(it) => setName(it.currentTarget.value)} />
      </label>
      <button class="primary">Save the state</button>
    </form>
  )
}

interface Page {
  readonly items: readonly Readonly<Record<string, unknown>>[]
  readonly pagination: { readonly total: number }
}

async function readPage(path: string): Promise<Page> {
  const result = await read<Page>(path)
  return result.ok ? result.data : { items: [], pagination: { total: 0 } }
}

/** Counts what is there, and what was made since an instant; without one everything is lost. */
async function countAll(since?: string) {
  const now: Record<string, number> = {}
  const made: Record<string, number> = {}
  for (const kind of Object.keys(kinds) as Kind[]) {
    const { items, pagination } = await readPage(`/${kind}?limit=${ITEMS_MAX}`)
    now[kind] = pagination.total
    made[kind] = madeSince(kind, items, since ?? '')
  }
  if (since === undefined) return { now, lost: now }
  const { pagination } = await readPage(`/vouchers?limit=1&since=${since}`)
  const totals = await read<Totals>(`/totals?buckets=1&from=${since}`)
  const redemptions = totals.ok ? (totals.data.items[0]?.redeemed ?? 0) : 0
  return { now, lost: { ...made, vouchers: pagination.total, redemptions } }
}

/** Replaces the state by a snapshot or the state of the start, after a confirmation that names what is lost. */
async function replace(what: string, snapshot?: Snapshot): Promise<void> {
  // A change of the clock may still be on its way, and the server refuses to count from a time that is to come.
  await readClock()
  // After a reset, times do not tell what was made since the snapshot.
  const isEarlier = snapshot !== undefined && Date.parse(snapshot.clock) > serverNow()
  const { now, lost } = await countAll(isEarlier ? undefined : snapshot?.clock)
  const text = (
    <>
      <h2>
        {what} {snapshot?.name ?? 'the server'}?
      </h2>
      <p>
        <strong>
          {isEarlier
            ? 'The clock is earlier than that of the snapshot: everything that the snapshot does not have is lost.'
            : `Lost: ${listOf(lost, snapshot && ITEMS_MAX)}.`}
        </strong>
      </p>
      <p>
        Now: {listOf(now)}.{snapshot && ` In the snapshot: ${plural(snapshot.vouchers, 'vouchers')}.`}
      </p>
      {features.value?.test_clock && <p>{clockSentence(snapshot?.clock ?? new Date().toISOString(), serverNow())}</p>}
      <p class="quiet">Faults and open polls end, and the stream of this page begins again.</p>
    </>
  )
  if (!(await confirm(text, what))) return
  const replaced = (shared: { readonly shared?: true } = {}) =>
    snapshot
      ? makeCall({ endpoint: 'platform.restoreSnapshot', input: { name: snapshot.name, ...shared } })
      : makeCall({ endpoint: 'platform.reset', input: shared })
  let result = await replaced()
  if (!result.ok && result.code === 'DATABASE_SHARED') {
    const shared = <p>Other servers may use this database: their state changes too.</p>
    if (await confirm(shared, `${what} for all`)) result = await replaced({ shared: true })
  }
  announce(result.ok ? (snapshot ? `Restored ${snapshot.name}.` : 'The server was reset.') : result.sentence)
}
