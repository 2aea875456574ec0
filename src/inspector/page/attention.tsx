import type { ComponentChildren } from 'preact'
import type { ActivityLine } from '../../contract/platform/activity.js'
import type { Overview } from '../../contract/platform/overview.js'
import { NO_RESPONSE, read } from './api.js'
import type { Entry } from './model/activity-log.js'
import { isSuccess } from './model/filter.js'
import { plural, relative } from './model/format.js'
import type { PlannedCall } from './model/planned-call.js'
import { Name } from './name.js'
import { linkTo } from './router.js'
import { signal } from './signal.js'
import { announce, features } from './state.js'
import { loadFile } from './trust.js'

/** Ms between two reads: after a change of the state, after failures, and while something is unusual. */
const CHANGE_MS = 500
const FAILURES_MS = 2_000
const UNUSUAL_MS = 30_000

/** What is unusual at the server; null until it is known, and for a listener. */
export const overview = signal<Overview | null>(null)

let readAt = 0
let dueAt = Number.POSITIVE_INFINITY
let timer: ReturnType<typeof setTimeout> | undefined

/** Reads the overview, once `ms` have passed since the read before. */
export function readOverview(ms = CHANGE_MS): void {
  const due = Math.max(Date.now(), readAt + ms)
  if (features.value?.source !== 'server' || due >= dueAt) return
  clearTimeout(timer)
  dueAt = due
  timer = setTimeout(readNow, due - Date.now())
}

async function readNow(): Promise<void> {
  readAt = Date.now()
  // What changes during the read needs another one.
  dueAt = Number.POSITIVE_INFINITY
  const result = await read<Overview>('/overview')
  if (result.ok) overview.value = result.data
  // What failed an hour ago, and a listener that ended without notice, are no longer unusual.
  if (Object.values(tabCounts()).some(Boolean) || rowsOf().length > 0) readOverview(UNUSUAL_MS)
}

/** Reads the overview after a line of the stream that may change it: no successful call of a program does. */
export function noteLine({ kind }: ActivityLine, entry: Entry | undefined): void {
  if (kind === 'state' || kind === 'live') readOverview()
  else if (entry && (kind === 'delivery' || entry.isOfOperator || !isSuccess(entry))) readOverview(FAILURES_MS)
}

/** Makes a call from the first view. What makes calls is loaded with the first one: it is large. */
export async function callLater(planned: PlannedCall, said: string): Promise<void> {
  const loaded = await loadFile(() => import('./make-call.js'))
  if (loaded) await loaded.makeCall(planned, said)
  else announce(NO_RESPONSE)
}

const sum = (items: readonly { readonly count: number }[]) => items.reduce((total, it) => total + it.count, 0)

/** Numbers beside the names of the views, by path. */
export function tabCounts(): Readonly<Record<string, number>> {
  const it = overview.value
  if (it === null) return {}
  return {
    '/deliveries': it.failing_deliveries + it.dead_letters,
    '/reviews': it.reviews,
    '/faults': it.faults,
    '/errors': sum(it.failed_calls.items) + sum(it.failed_attempts.items),
  }
}

function rowsOf(): ComponentChildren[] {
  const it = overview.value
  if (it === null) return []
  const now = Date.now()
  const ahead = relative(new Date(now + it.clock_ahead_ms).toISOString(), now)
  const clock = ahead !== 'now' && `Clock ${ahead.replace(/^in (.*)/, '$1 ahead').replace('ago', 'behind')}`
  const { faults, reviews, failing_deliveries: failing, dead_letters: dead } = it
  const clear = () => callLater({ endpoint: 'platform.clearFaults', input: {} }, 'The faults were removed.')
  return [
    faults > 0 && (
      <>
        <a href={linkTo(['faults'])}>{plural(faults, 'faults')} set</a>{' '}
        <button type="button" class="small" onClick={clear}>
          Remove all faults
        </button>
      </>
    ),
    clock && <a href={linkTo(['clock'])}>{clock}</a>,
    reviews > 0 && <a href={linkTo(['reviews'])}>{plural(reviews, 'reviews')} waiting</a>,
    ...it.borrowed_webhooks.map(({ bot_id, holder }) => (
      <>
        Webhook of <Name id={bot_id} /> borrowed by {holder}
      </>
    )),
    failing > 0 && <a href={linkTo(['deliveries'], { status: 'failed' })}>{plural(failing, 'deliveries')} failing</a>,
    dead > 0 && <a href={linkTo(['deliveries'], { status: 'dead_letter' })}>{plural(dead, 'dead letters')}</a>,
  ].filter(Boolean)
}

/** A bar of what is unusual; nothing if all is as usual. */
export function Attention() {
  const rows = rowsOf()
  if (rows.length === 0) return null
  return (
    <aside class="attention" aria-label="Unusual">
      <ul>
        {rows.map((row) => (
          <li>{row}</li>
        ))}
      </ul>
    </aside>
  )
}
