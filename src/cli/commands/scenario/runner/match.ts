interface Difference {
  /** `data.voucher.status` */
  readonly path: string
  readonly expected: unknown
  /** Undefined: it is not there. */
  readonly actual: unknown
}

/** Where `actual` lacks what is expected of it. Records may hold more, lists may not. */
export function differences(expected: unknown, actual: unknown, path: string): Difference[] {
  const here = [{ path, expected, actual }]
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return here
    return expected.flatMap((it, i) => differences(it, actual[i], `${path}[${i}]`))
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null || Array.isArray(actual)) return here
    const members = actual as Readonly<Record<string, unknown>>
    return Object.entries(expected).flatMap(([name, it]) =>
      differences(it, Object.hasOwn(members, name) ? members[name] : undefined, `${path}.${name}`),
    )
  }
  return Object.is(expected, actual) ? [] : here
}

const TEXT_LENGTH_MAX = 200

/** One line that says what is different. */
export function describe({ path, expected, actual }: Difference): string {
  return `${path}: expected ${shown(expected)}, got ${actual === undefined ? 'nothing' : shown(actual)}`
}

export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > TEXT_LENGTH_MAX ? `${text.slice(0, TEXT_LENGTH_MAX)}…` : text
}
