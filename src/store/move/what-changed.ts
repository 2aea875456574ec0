import type { Sums } from './digest.js'
import { END_START, type Header } from './format.js'
import type { Places } from './read.js'
import { moved } from './tables.js'

/** Which part of a file is not as it was written, by its last line. @param sums of what was read */
export function whatChanged(text: string, line: number, sums: Sums, header: Header, places: Places): string {
  const said = parse(text)
  for (const name of moved) {
    const [read, written, promised] = [sums.rows[name] ?? 0, said?.rows?.[name] ?? 0, header.rows[name] ?? 0]
    const place = places.get(name)
    const lines = place === undefined ? '' : ` (lines ${place.first} to ${place.last})`
    if (said !== undefined && read !== written) return `${name} has ${read} rows${lines}, and had ${written}`
    if (said === undefined && read !== promised) return `${name} has ${read} rows${lines}, and had ${promised}`
    if (said !== undefined && sums.sha256[name] !== said.sha256?.[name])
      return `the rows of ${name}${lines} are not those that were written`
  }
  return said !== undefined && said.total_sha256 !== sums.total_sha256
    ? 'line 1 is not as it was written'
    : `line ${line}, the last, is not as it was written`
}

function parse(text: string): Partial<Sums> | undefined {
  try {
    return JSON.parse(text.slice(END_START.length, -1)) as Partial<Sums>
  } catch {
    return undefined
  }
}
