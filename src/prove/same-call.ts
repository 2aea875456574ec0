import type { Sent } from './record.js'

/** JSON with the members of objects in order, so that equal values are equal texts. */
export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, it: unknown) =>
    typeof it === 'object' && it !== null && !Array.isArray(it)
      ? Object.fromEntries(Object.entries(it).sort(([a], [b]) => (a < b ? -1 : 1)))
      : it,
  ) ?? ''

/** Identity of a call: endpoint, path and body. An import that continues with its next row repeats nothing. */
export const callKey = ({ endpoint, path, body }: Pick<Sent, 'endpoint' | 'path' | 'body'>) =>
  `${endpoint} ${path} ${canonical(body)}`
