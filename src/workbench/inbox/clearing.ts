import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { readLines } from '../../files/summed-lines.js'
import type { InboxFile } from './files.js'
import { announceWriter, inboxBytes, inboxFiles, listFiles, syncFolder, writersIn } from './files.js'
import { Inbox } from './inbox.js'
import type { LineSummary } from './lines.js'
import { summaryOf } from './lines.js'

export interface Cleared {
  /** Deliveries. */
  readonly removed: number
  readonly left: number
  readonly bytes: number
  /** Processes that write here: then nothing was removed. */
  readonly writers: readonly number[]
}

/** Removes every file of the inbox and leaves any other alone. */
export const clearInbox = (dir: string) =>
  clear(dir, () => {
    const names = inboxFiles(dir)
    return () => {
      for (const name of names) rmSync(join(dir, name), { force: true })
    }
  })

/**
 * Removes deliveries that arrived before a time (milliseconds since 1970). The others keep their ids, and damaged lines
 * stay. If the process is killed meanwhile, each file is either unchanged or completely cleared.
 */
export const clearBefore = (dir: string, time: number) =>
  clear(dir, () => {
    const files = listFiles(dir)
    return () => {
      const kept = new Set(
        Inbox.open(dir)
          .find({ since: time })
          .map(({ id }) => id),
      )
      const isKept = (line: LineSummary) =>
        line.kind === 'file' || line.at >= time || (line.kind === 'response' && kept.has(line.of))
      for (const file of files) filterFile(file, isKept, file.number === files.at(-1)?.number)
      syncFolder(dir)
    }
  })

/** @param list lists the files to clear, and returns the function that clears them */
function clear(dir: string, list: () => () => void): Cleared {
  if (!existsSync(dir)) return { removed: 0, left: 0, bytes: 0, writers: [] }
  const self = announceWriter(dir)
  try {
    // List the files before the writers: a process that starts now has a file that is not in the list.
    const remove = list()
    const before = { count: Inbox.open(dir).count, bytes: inboxBytes(dir) }
    const writers = writersIn(dir).filter(({ name }) => name !== self.name)
    if (writers.length > 0) {
      return { removed: 0, left: before.count, bytes: 0, writers: writers.map(({ pid }) => pid) }
    }
    remove()
    const left = Inbox.open(dir).count
    return { removed: before.count - left, left, bytes: before.bytes - inboxBytes(dir), writers: [] }
  } finally {
    self.release()
  }
}

/** Keeps the last file even if it is empty: the next file takes the number after it. */
function filterFile({ path }: InboxFile, isKept: (line: LineSummary) => boolean, isLast: boolean): void {
  const aside = `${path}.${randomBytes(4).toString('hex')}`
  const old = openSync(path, 'r')
  const file = openSync(aside, 'wx', 0o600)
  try {
    let removed = 0
    let kept = 0
    for (const { bytes, isTorn } of readLines(old)) {
      const line = summaryOf(bytes)
      if (line !== undefined && !isKept(line)) {
        removed += 1
        continue
      }
      if (line?.kind !== 'file') kept += 1
      writeSync(file, isTorn ? bytes : Buffer.concat([bytes, LINE_END]))
    }
    fsyncSync(file)
    if (removed === 0) return
    if (kept === 0 && !isLast) rmSync(path)
    else renameSync(aside, path)
  } finally {
    closeSync(old)
    closeSync(file)
    rmSync(aside, { force: true })
  }
}

const LINE_END = Buffer.from('\n')
