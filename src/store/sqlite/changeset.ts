/** Starts a table: number of columns, for each of them whether it is part of the primary key, and the name. */
const TABLE = 0x54
const DELETE = 9
const INSERT = 18
const UPDATE = 23

/**
 * Returns the changeset that undoes a changeset of SQLite (format: sqlite.org/session/changesetfmt.html). SQLite has a
 * function for this, sqlite3changeset_invert, to which the libraries for Node offer no access.
 */
export function inverseOf(changes: Uint8Array): Uint8Array {
  // Every inverse change has the length of its change.
  const inverse = changes.slice()
  let at = 0
  let isKey: Uint8Array = new Uint8Array()
  const varint = () => {
    let value = 0
    for (;;) {
      const byte = changes[at++] as number
      value = value * 128 + (byte & 127)
      if (byte < 128) return value
    }
  }
  const skipValue = () => {
    const type = changes[at++] as number
    const isNumber = type === 1 || type === 2
    const isText = type === 3 || type === 4
    const length = isNumber ? 8 : isText ? varint() : 0
    at += length
  }
  /** Start of each value of a record, and the end. */
  const readRecord = () => {
    const starts = [at]
    for (let column = 0; column < isKey.length; column++) {
      skipValue()
      starts.push(at)
    }
    return starts
  }

  while (at < changes.length) {
    const start = at
    const kind = changes[at++]
    if (kind === TABLE) {
      const columns = varint()
      isKey = changes.subarray(at, at + columns)
      at = changes.indexOf(0, at + columns) + 1
      continue
    }
    at += 1
    if (kind !== UPDATE) {
      inverse[start] = kind === INSERT ? DELETE : INSERT
      for (let column = 0; column < isKey.length; column++) skipValue()
      continue
    }
    // Both records change places, except for the primary key, which only the first one has.
    let to = at
    const [before, after] = [readRecord(), readRecord()]
    for (const [keys, others] of [
      [before, after],
      [after, before],
    ] as const) {
      for (let column = 0; column < isKey.length; column++) {
        const from = isKey[column] ? keys : others
        inverse.set(changes.subarray(from[column], from[column + 1]), to)
        to += (from[column + 1] as number) - (from[column] as number)
      }
    }
  }
  return inverse
}
