import { EventEmitter, once } from 'node:events'
import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pause } from '../../files/pause.js'
import { realPathOf } from '../../files/read-file.js'

/**
 * Milliseconds after a change in which further changes count as the same: editors write a file in several steps, a few
 * milliseconds apart. People notice a delay from about 100 ms.
 */
const QUIET_MS = 20

/**
 * Watches files. It watches their folders, because editors replace a file instead of writing to it; the parents of the
 * folders, because a check-out replaces a folder; and the targets of links.
 */
export class FileWatch {
  readonly #paths: readonly string[]
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #events = new EventEmitter()
  /** Paths that count as a change, with the file that they change. */
  #places = new Map<string, string>()
  #changed: string | undefined

  /** @throws system errors if a folder cannot be watched */
  constructor(paths: readonly string[]) {
    this.#paths = paths
    for (const path of paths) this.#watch(dirname(path))
    this.#update()
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
    for (const watcher of this.#watchers.values()) watcher.close()
  }

  /** Finds the places to watch again: a link may have another target, and a folder may be another one. */
  #update(): void {
    this.#places = new Map()
    for (const path of this.#paths) {
      for (const place of new Set([path, dirname(path), realPathOf(path)])) {
        this.#places.set(place, path)
        try {
          this.#watch(dirname(place))
        } catch {
          // A deleted folder is watched again when its parent reports it; other places cannot always be watched.
        }
      }
    }
  }

  #watch(folder: string): void {
    if (this.#watchers.has(folder)) return
    const watcher = watch(folder, (event, name) => {
      const place = name === null ? undefined : join(folder, name)
      const path = place === undefined ? undefined : this.#places.get(place)
      if (place === undefined || path === undefined) return
      const isFolder = place === dirname(path)
      // A folder also changes when other files are written to it.
      if (isFolder && event !== 'rename') return
      if (isFolder) this.#forget(place)
      this.#update()
      this.#changed = basename(path)
      this.#events.emit('change')
    })
    watcher.on('error', () => this.#forget(folder))
    this.#watchers.set(folder, watcher)
  }

  #forget(folder: string): void {
    this.#watchers.get(folder)?.close()
    this.#watchers.delete(folder)
  }
}
