import { useState } from 'preact/hooks'
import type { Snapshot } from '../../../contract/platform/controls.js'
import type { Totals } from '../../../contract/platform/platform.js'
import { call } from '../api.js'
import { type Column, Heading, KeyValue, Loaded, Table, Time } from '../components.js'
import { count, plural } from '../model/format.js'
import { type Count, clockSentence, ITEMS_MAX, type Kind, kinds, lossSentence, madeSince } from '../model/loss.js'
import { announce, features, serverNow } from '../state.js'
import { confirm } from './confirm.js'

interface Page {
  readonly items: readonly Readonly<Record<string, unknown>>[]
  readonly pagination: { readonly total: number }
}

const readPage = async (path: string) => {
  const read = await call<Page>('GET', path)
  return read.ok ? read.data : { items: [], pagination: { total: 0 } }
}

/** Counts what is there, and what was made since an instant; without one everything is lost. */
async function countAll(since?: string): Promise<Count[]> {
  const one = async (kind: Kind): Promise<Count> => {
    const { items, pagination } = await readPage(`/${kind}?limit=${since === undefined ? 1 : ITEMS_MAX}`)
    const now = pagination.total
    if (since === undefined) return { kind, now, lost: now }
    if (kind !== 'vouchers') return { kind, now, lost: madeSince(kind, items, since) }
    return { kind, now, lost: (await readPage(`/vouchers?limit=1&since=${since}`)).pagination.total }
  }
  const counts = await Promise.all((Object.keys(kinds) as Kind[]).map(one))
  if (since === undefined) return counts
  const totals = await call<Totals>('GET', `/totals?buckets=1&from=${since}`)
  const redeemed = totals.ok ? totals.data.items.reduce((sum, it) => sum + it.redeemed, 0) : 0
  return [...counts, { kind: 'redemptions', now: null, lost: redeemed }]
}

/** Snapshots of the state: save one, return to one, or begin again. Each says beforehand what is lost. */
export function StateView() {
  return (
    <article>
      <Heading>State</Heading>
      <p class="quiet">Save everything that this server stores under a name, try something, and return to it.</p>
      <section>
        <h2>Snapshots</h2>
        <Loaded path="/snapshots" on={['reset', 'clock']} view={listed} />
      </section>
      <section>
        <h2>Begin again</h2>
        <p class="quiet">
          A reset returns to the state of the start: the records of the seed, or none. Snapshots stay.
        </p>
        <button class="danger" onClick={reset}>
          Reset …
        </button>
      </section>
    </article>
  )
}

function listed({ items }: { readonly items: readonly Snapshot[] }, reload: () => void) {
  const columns: readonly Column<Snapshot>[] = [
    { head: 'Snapshot', cell: (it) => <strong>{it.name}</strong> },
    // The time of the server's clock: the other times of the page are by it too.
    { head: 'Saved', cell: (it) => <Time at={it.clock} /> },
    { head: 'Vouchers', cell: (it) => count(it.vouchers), look: 'number' },
    {
      head: 'Actions',
      cell: (it) => (
        <span class="actions">
          <button class="small" aria-label={`Restore ${it.name}`} onClick={() => restore(it)}>
            Restore …
          </button>
          <button class="small" aria-label={`Remove ${it.name}`} onClick={() => remove(it).then(reload)}>
            Remove …
          </button>
        </span>
      ),
    },
  ]
  return (
    <>
      <Save snapshots={items} saved={reload} />
      <Table
        caption="Snapshots"
        columns={columns}
        rows={items.toReversed()}
        keyOf={(it) => it.name}
        empty="No snapshot yet."
      />
    </>
  )
}

interface SaveProps {
  readonly snapshots: readonly Snapshot[]
  readonly saved: () => void
}

function Save({ snapshots, saved }: SaveProps) {
  const [name, setName] = useState('')
  const save = async (event: Event) => {
    event.preventDefault()
    const old = snapshots.find((it) => it.name === name)
    const text = old && (
      <>
        <h2>Replace {name}?</h2>
        <p>
          The snapshot of <Time at={old.clock} /> with {plural(old.vouchers, 'vouchers')} is lost.
        </p>
      </>
    )
    if (text && !(await confirm(text, 'Replace'))) return
    const result = await call<Snapshot>('PUT', pathOf(name))
    announce(result.ok ? `Saved ${name} with ${plural(result.data.vouchers, 'vouchers')}.` : result.sentence)
    if (result.ok) setName('')
    saved()
  }
  return (
    <form class="filters" onSubmit={save}>
      <label>
        <span>Name</span>
        <input
          value={name}
          required
          pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,63}"
          title="1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit"
          placeholder="before-the-sale"
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <button class="primary">Save the state</button>
    </form>
  )
}

const pathOf = (name: string) => `/snapshots/${encodeURIComponent(name)}`

async function remove({ name, clock, vouchers }: Snapshot): Promise<void> {
  const text = (
    <>
      <h2>Remove {name}?</h2>
      <p>
        The snapshot of <Time at={clock} /> with {plural(vouchers, 'vouchers')} is lost. The server keeps its state.
      </p>
    </>
  )
  if (!(await confirm(text, 'Remove'))) return
  const result = await call('DELETE', pathOf(name))
  announce(result.ok ? `Removed ${name}.` : result.sentence)
}

const restore = (snapshot: Snapshot) => replace(`Restore ${snapshot.name}?`, 'Restore', snapshot)
const reset = () => replace('Reset the server?', 'Reset')

/** Replaces the state after a confirmation that names what is lost. */
async function replace(title: string, what: string, snapshot?: Snapshot): Promise<void> {
  const counts = await countAll(snapshot?.clock)
  const clock = snapshot?.clock ?? new Date().toISOString()
  const vouchers = counts.find((it) => it.kind === 'vouchers')?.now ?? 0
  const text = (
    <>
      <h2>{title}</h2>
      <p>
        <strong>{lossSentence(counts)}</strong>
      </p>
      {snapshot && (
        <p>
          {plural(vouchers, 'vouchers')} now, {count(snapshot.vouchers)} in the snapshot of <Time at={snapshot.clock} />
          .
        </p>
      )}
      <KeyValue
        items={counts.map(({ kind, now, lost }) => [
          kind,
          lost || now ? `${now === null ? '' : `${count(now)} now, `}${count(lost)} lost` : null,
        ])}
      />
      {features.value?.test_clock && <p>{clockSentence(clock, serverNow())}</p>}
      <p class="quiet">Faults and open polls end, and the stream of this page begins again.</p>
    </>
  )
  if (!(await confirm(text, what))) return
  const path = snapshot ? `${pathOf(snapshot.name)}/restore` : '/reset'
  let result = await call('POST', path, {})
  const shared = (
    <>
      <h2>{what} for all servers?</h2>
      <p>Other servers may use this database: their state changes too.</p>
    </>
  )
  if (!result.ok && result.code === 'DATABASE_SHARED' && (await confirm(shared, what)))
    result = await call('POST', path, { shared: true })
  announce(result.ok ? (snapshot ? `Restored ${snapshot.name}.` : 'The server was reset.') : result.sentence)
}
