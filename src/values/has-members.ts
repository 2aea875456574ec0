// Apart from json.ts: the chunk of the matcher of the testing library takes all that the matcher imports.

/** True if a value has the expected members. Objects may have more members, lists have exactly the expected items. */
export function hasMembers(value: unknown, expected: unknown): boolean {
  if (typeof expected !== 'object' || expected === null) return Object.is(value, expected)
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== Array.isArray(expected)) return false
  // By toISOString, because Jest gives each test file its own realm, with its own Date.
  if ('toISOString' in expected) return String(JSON.stringify(value)) === JSON.stringify(expected)
  if (Array.isArray(expected) && expected.length !== (value as unknown[]).length) return false
  return Object.entries(expected).every(([name, it]) => hasMembers((value as Record<string, unknown>)[name], it))
}
