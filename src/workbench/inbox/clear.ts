import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../../files/replace-file.js'
import { inboxBytes, linesOf, listFiles, namesIn, sizeOf, writersIn } from './files.js'
import { Inbox } from './inbox.js'
import type { LineSummary } from './lines.js'

/**
 * Removes every file of the inbox, or only the deliveries that arrived before a time (milliseconds since 1970): the
 * others keep their ids, and damaged lines stay. If the process is killed, each file is either unchanged or cleared.
 * Removes nothing while processes write to the folder; `writers` has their PIDs.
 */
export function clearInbox(dir: string, before = Number.POSITIVE_INFINITY) {
  // List the files before the writers: a process that starts now has a file that is not in the list.
  const [names, files] = [namesIn(dir), listFiles(dir)]
  const inbox = new Inbox(dir)
  const bytes = inboxBytes(dir)
  const writers = writersIn(dir).map(({ pid }) => pid)
  if (writers.length > 0) return { removed: 0, left: inbox.count, bytes: 0, writers }
  const kept = new Set(inbox.find({ since: before }).map(({ id }) => id))
  if (before === Number.POSITIVE_INFINITY) for (const name of names) rmSync(join(dir, name), { force: true })
  else {
    for (const { path } of files) removeLines(path, (line) => kept.has(line.kind === 'delivery' ? line.id : line.of))
    // The last file stays even if it is empty: the next one takes the number after it.
    for (const { path } of files.slice(0, -1)) if (sizeOf(path) === 0) rmSync(path, { force: true })
  }
  return { removed: inbox.count - kept.size, left: kept.size, bytes: bytes - inboxBytes(dir), writers }
}

function removeLines(path: string, isKept: (line: LineSummary) => boolean): void {
  for (const { line } of linesOf(path)) {
    if (line === undefined || isKept(line)) continue
    replaceFile(path, keptBytes(path, isKept))
    return
  }
}

function* keptBytes(path: string, isKept: (line: LineSummary) => boolean): Generator<Buffer> {
  for (const { bytes, line } of linesOf(path))
    if (line === undefined || isKept(line)) yield Buffer.concat([bytes, Buffer.from('\n')])
}
