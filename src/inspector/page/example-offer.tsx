import { useEffect } from 'preact/hooks'
import type { Planted } from '../../contract/platform/acting.js'
import { read } from './api.js'
import { signal } from './signal.js'
import { changed, features } from './state.js'
import { loadFile } from './trust.js'
import type { Example } from './views/example.js'

/** The file of the offer, which is loaded for a server without an application. */
const file = signal<typeof Example | null>(null)

/** What this tab has planted; kept while the user visits other views, because tokens are shown only once. */
const planted = signal<Planted | null>(null)

/** Number of the state that was found to be empty, see `stateNumber`. */
const empty = signal<number | null>(null)
/** Number of the state in which the user closed the offer. */
let closed: number | undefined

/** Counts the states that this tab has seen: another one is decided upon anew. */
const stateNumber = () => (['reset', 'restore', 'seed'] as const).reduce((sum, it) => sum + (changed.value[it] ?? 0), 0)

function plant(it: Planted): void {
  planted.value = it
}

function close(): void {
  closed = stateNumber()
  planted.value = null
  empty.value = null
}

async function decide(state: number): Promise<void> {
  const result = await read<{ readonly items: readonly { readonly id: string }[] }>('/applications?limit=100')
  if (!result.ok || state !== stateNumber()) return
  const { items } = result.data
  const shop = planted.value?.applications[0]
  // Its tokens are valid as long as the application exists, also after a restore.
  if (shop && items.every(({ id }) => id !== shop.id)) planted.value = null
  if (items.length > 0 || closed === state) return
  file.value ??= (await loadFile(() => import('./views/example.js')))?.Example ?? null
  empty.value = state
}

/** Offers the example to an empty server. @param when true if the view around it shows nothing */
export function ExampleOffer({ when }: { readonly when: boolean }) {
  const state = stateNumber()
  const asks = features.value?.source === 'server' && (when || planted.value !== null)
  useEffect(() => {
    if (asks) void decide(state)
  }, [asks, state])
  const View = file.value
  const isShown = planted.value !== null || (when && empty.value === state)
  return View && isShown ? <View planted={planted.value} plant={plant} close={close} /> : null
}
