import { EventEmitter, once } from 'node:events'
import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { pause } from '../../files/pause.js'

/**
 * Milliseconds after a change in which further changes count as the same: editors write a file in several steps, a few
 * milliseconds apart. People notice a delay from about 100 ms.
 */
const QUIET_MS = 20

/** Watches files. It watches their folders, because editors replace a file instead of writing to it. */
export class FileWatch {
  readonly #watchers: readonly FSWatcher[]
  readonly #events = new EventEmitter()
  #changed: string | undefined

  /** @throws system errors if a folder cannot be watched */
  constructor(paths: readonly string[]) {
    const folders = [...new Set(paths.map((it) => dirname(it)))]
    this.#watchers = folders.map((folder) => {
      const names = paths.filter((it) => dirname(it) === folder).map((it) => basename(it))
      return watch(folder, (_event, name) => {
        if (name === null || !names.includes(name)) return
        this.#changed = name
        this.#events.emit('change')
      })
    })
  }

  /** Resolves to the name of a file that changed since the last call; undefined if the signal aborts. */
  async next(signal: AbortSignal): Promise<string | undefined> {
    if (this.#changed === undefined) {
      await once(this.#events, 'change', { signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
    }
    await pause(QUIET_MS, signal)
    const changed = this.#changed
    this.#changed = undefined
    return signal.aborted ? undefined : changed
  }

  close(): void {
    for (const watcher of this.#watchers) watcher.close()
  }
}
