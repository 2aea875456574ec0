import type { Entry } from './activity-log.js'
import { textOfLine } from './chat-path.js'
import { filterOf } from './filter.js'

/** Maximum entries of one search. */
const FOUND_MAX = 100

/** Entries whose summary has all words of a text, or whose kept bodies have the text; the newest first. */
export function findInLog(entries: readonly Entry[], text: string): Entry[] {
  const isNamed = filterOf(new URLSearchParams({ find: text }))
  const wanted = text.toLowerCase()
  const found: Entry[] = []
  for (const entry of entries.toReversed()) {
    if (found.length === FOUND_MAX) break
    if (isNamed(entry) || textOfLine(entry).toLowerCase().includes(wanted)) found.push(entry)
  }
  return found
}
