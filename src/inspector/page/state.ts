import { useEffect, useState } from 'preact/hooks'
import type { FailureEnvelope } from '../../contract/envelope.js'
import type { StateChange } from '../../contract/platform/activity.js'
import type { PageFeatures } from '../features.js'
import { noteSession, read, send } from './api.js'
import { BASE } from './router.js'
import { signal } from './signal.js'
import { noteBuild } from './trust.js'

export const features = signal<PageFeatures | null>(null)

/** What serves the page, also for a tab without a session. */
export const source = signal<PageFeatures['source']>('server')

/** Reads what the server offers; null without a session. */
export async function readFeatures(): Promise<PageFeatures | null> {
  const response = await send(`${BASE}/features`)
  noteSession(response)
  if (!response.ok) {
    const refusal = (await response.json()) as FailureEnvelope
    source.value = refusal.details?.source === 'listener' ? 'listener' : 'server'
    return null
  }
  const offered = (await response.json()) as PageFeatures
  noteBuild(offered.build)
  return offered
}

/** Number of changes of each kind that the stream reported, so that a view can read its data again. */
export const changed = signal<Readonly<Partial<Record<StateChange, number>>>>({})

export function noteChange(what: StateChange): void {
  changed.value = { ...changed.value, [what]: (changed.value[what] ?? 0) + 1 }
}

/** Number of times that the whole state became another one: then every view reads its data again. */
export const stateNumber = (): number =>
  (['reset', 'restore', 'seed'] as const).reduce((sum, it) => sum + (changed.value[it] ?? 0), 0)

/** Ms by which the server's clock, which a test may move, is ahead of the browser's clock. */
const offset = signal(0)
/** Components that show time: each second renders these, and not the page, whose fields a user may be filling in. */
const ticking = new Set<() => void>()

export const serverNow = (): number => Date.now() + offset.value

/** Time of the server in ms, every second anew. */
export function useServerNow(): number {
  const [, setNow] = useState(0)
  useEffect(() => {
    const show = () => setNow(Date.now())
    ticking.add(show)
    return () => void ticking.delete(show)
  }, [])
  return serverNow()
}

/** Text that a screen reader speaks, also displayed until two lines can be read. */
export const announcement = signal('')
let silence: ReturnType<typeof setTimeout> | undefined

export function announce(text: string): void {
  clearTimeout(silence)
  announcement.value = text
  silence = setTimeout(() => {
    announcement.value = ''
  }, 10_000)
}

export async function readClock(): Promise<void> {
  if (!features.value?.test_clock) return
  const result = await read<{ now: string }>('/clock')
  if (result.ok) offset.value = Date.parse(result.data.now) - Date.now()
}

export function startClock(): void {
  setInterval(() => {
    for (const show of ticking) show()
  }, 1000)
}
