import type { ActivityLine } from '../../contract/platform/activity.js'
import { API, noteSession, send, sessionEnded } from './api.js'
import { noteLine } from './attention.js'
import { ActivityLog, isReplacement } from './model/activity-log.js'
import { lineSplitter } from './model/ndjson.js'
import { refreshNames } from './name.js'
import { signal } from './signal.js'
import { announce, announcement, features, noteChange, readClock, readFeatures } from './state.js'
import { distrust } from './trust.js'

export const log = new ActivityLog()
/** Changes after additions to `log`, at most once per frame. */
export const logVersion = signal(0)
export const connection = signal<'Connecting' | 'Live' | 'Disconnected'>('Connecting')
/** True between the stored lines and the end of the stream: an absent entry does not exist. */
export const complete = signal(false)

/** Follows the server's activity until the tab's token ends; continues when the server proves to be the tab's own. */
export async function followActivity(): Promise<void> {
  for (;;) {
    await readActivity(() => {
      if (connection.value === 'Disconnected') announce('Reconnected.')
      connection.value = 'Live'
      void readClock()
    })
    complete.value = false
    if (connection.value === 'Live' && !sessionEnded.value) announce('Disconnected. Connecting again …')
    connection.value = 'Disconnected'
    // Stop: only a new link gives a new token.
    if (sessionEnded.value) return
    await distrust()
    // A restarted server may offer something else.
    features.value = await readFeatures().catch(() => features.value)
  }
}

/** Reads the stream until it ends or breaks. */
async function readActivity(onOpen: () => void): Promise<void> {
  try {
    const response = await send(`${API}/activity?follow=true&bodies=true`)
    noteSession(response)
    if (!response.ok || !response.body) return
    onOpen()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    const split = lineSplitter()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      for (const line of split(value)) receive(JSON.parse(line))
      show()
    }
  } catch {
    // Treat a broken stream like one that the server closed.
  }
}

function receive(line: ActivityLine): void {
  noteLine(line, log.add(line))
  if (line.kind === 'live') {
    complete.value = true
    refreshNames()
  }
  // Every PATCH changes a record, perhaps its name.
  if (line.kind === 'request' && line.request.method === 'PATCH') refreshNames()
  if (line.kind !== 'state') return
  refreshNames()
  noteChange(line.what)
  if (line.what === 'clock' || isReplacement(line.what)) void readClock()
  // Neither a change before the page was opened, nor one that this tab has made and announced.
  if (!isReplacement(line.what) || !complete.value || announcement.value !== '') return
  announce(line.what === 'reset' ? 'The server was reset.' : 'A snapshot was restored.')
}

let shown = true

/** Renders once for all chunks of a frame. */
function show(): void {
  if (!shown) return
  shown = false
  setTimeout(() => {
    shown = true
    logVersion.value++
  }, 16)
}
