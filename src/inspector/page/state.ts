import type { StateChange } from '../../contract/platform/activity.js'
import type { PageFeatures } from '../features.js'
import { call } from './api.js'
import { signal } from './signal.js'

export const features = signal<PageFeatures | null>(null)

/** Latest change that the stream reported, so that a view can read its data again. */
export const changed = signal<{ readonly what: StateChange; readonly times: number } | null>(null)

export function noteChange(what: StateChange): void {
  changed.value = { what, times: (changed.value?.times ?? 0) + 1 }
}

/** Ms by which the server's clock, which a test may move, is ahead of the browser's clock. */
const offset = signal(0)
const tick = signal(Date.now())

/** Time of the server in ms; updates every second in each component that reads it. */
export const serverNow = (): number => tick.value + offset.value

/** Text that a screen reader speaks, also displayed for a moment. */
export const announcement = signal('')
let silence: ReturnType<typeof setTimeout> | undefined

export function announce(text: string): void {
  clearTimeout(silence)
  announcement.value = text
  silence = setTimeout(() => {
    announcement.value = ''
  }, 4000)
}

export async function readClock(): Promise<void> {
  if (!features.value?.test_clock) return
  const read = await call<{ now: string }>('GET', '/clock')
  if (read.ok) offset.value = Date.parse(read.data.now) - Date.now()
}

export function startClock(): void {
  setInterval(() => {
    tick.value = Date.now()
  }, 1000)
}
