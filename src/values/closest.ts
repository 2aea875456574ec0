/** Returns the known name that `name` may misspell or write in another case (externalIssueId, external_issue_id). */
export function closest(name: string, known: readonly string[]): string | undefined {
  if (name.length > 64) return undefined
  const plain = (it: string) => it.replaceAll(/[-_]/g, '').toLowerCase()
  const ranked = known.map((it) => ({ it, distance: editDistance(plain(name), plain(it)) }))
  ranked.sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best !== undefined && best.distance <= Math.max(1, Math.floor(best.it.length / 3)) ? best.it : undefined
}

/** Suggests the known name that is closest to an unknown one, or returns something else. */
export function didYouMean<T>(name: string, known: readonly string[], otherwise: T): string | T {
  const near = closest(name, known)
  return near === undefined ? otherwise : `Did you mean ${near}?`
}

/** @throws TypeError for a member that is not known, which names the closest known one */
export function requireKnown(path: string, value: object, known: readonly string[]): void {
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue
    const close = closest(name, known)
    const hint = close === undefined ? `its members are ${known.join(', ')}` : `did you mean ${close}?`
    throw new TypeError(`${path}.${name} is unknown: ${hint}`)
  }
}

function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] as number) + Number(a[row - 1] !== b[column - 1])
      const isSwap = row > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const swap = isSwap ? (beforePrevious[column - 2] as number) + 1 : substitution
      current.push(Math.min(substitution, swap, (previous[column] as number) + 1, (current[column - 1] as number) + 1))
    }
    beforePrevious = previous
    previous = current
  }
  return previous[b.length] as number
}
