import { NO_RESPONSE } from './api.js'
import { signal } from './signal.js'
import { announce } from './state.js'
import { loadFile } from './trust.js'
import type { Recording } from './views/recording.js'

/** Ids of the requests and deliveries that are chosen for a scenario; null while the user records none. */
export const chosen = signal<ReadonlySet<string> | null>(null)

/** Form of a recording; loaded when the user records the first scenario. */
export const recording = signal<typeof Recording | null>(null)

export function choose(ids: ReadonlySet<string> | null): void {
  chosen.value = ids
}

export async function startRecording(): Promise<void> {
  recording.value ??= (await loadFile(() => import('./views/recording.js')))?.Recording ?? null
  if (recording.value) choose(new Set())
  else announce(NO_RESPONSE)
}

export function toggle(id: string): void {
  const ids = new Set(chosen.value)
  if (!ids.delete(id)) ids.add(id)
  choose(ids)
}
