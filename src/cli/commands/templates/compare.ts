import type { Template, TemplateInput } from '../../../contract/templates.js'
import { asMembers, type Members } from '../../../values/json.js'

interface Difference {
  /** Member as the file names it, such as `validity.duration_days`. */
  readonly member: string
  readonly file: unknown
  readonly server: unknown
}

/** How a template of a file stands on the server; only `same` needs nothing. */
export type TemplateState = 'missing' | 'differs' | 'draft' | 'rejected' | 'same'

export interface Comparison {
  readonly state: TemplateState
  readonly differences: readonly Difference[]
}

/** Values of members that the file omits. */
const defaults = { description: null, metadata: {} }
const relativeDefaults = { delay_days: 0, not_after: null }
const instants = new Set(['starts_at', 'ends_at', 'not_after'])

/** Compares a template of a file with that of the server. */
export function compareTemplates(defined: TemplateInput, stored: Template | undefined): Comparison {
  if (stored === undefined) return { state: 'missing', differences: [] }
  const { validity, ...others }: Members = { ...defaults, ...withoutNull(defined) }
  const record = asMembers(stored) ?? {}
  const differences = [
    ...differencesOf(others, record, ''),
    ...validityDifferences(asMembers(validity) ?? {}, asMembers(record.validity)),
  ]
  const { status } = stored
  if (differences.length > 0) return { state: 'differs', differences }
  return { state: status === 'draft' || status === 'rejected' ? status : 'same', differences }
}

function validityDifferences(validity: Members, stored: Members | undefined): Difference[] {
  if (stored === undefined) return []
  if (validity.type !== stored.type) return [{ member: 'validity.type', file: validity.type, server: stored.type }]
  const expected = validity.type === 'relative' ? { ...relativeDefaults, ...withoutNull(validity) } : validity
  return differencesOf(expected, stored, 'validity.')
}

/** Compares the members that the server names; another implementation may name fewer. */
const differencesOf = (expected: object, stored: Members, prefix: string): Difference[] =>
  Object.entries(expected).flatMap(([name, file]) => {
    const server = stored[camelCase(name)]
    return server === undefined || same(name, file, server) ? [] : [{ member: `${prefix}${name}`, file, server }]
  })

function same(name: string, file: unknown, server: unknown): boolean {
  if (instants.has(name) && typeof file === 'string' && typeof server === 'string')
    return Date.parse(file) === Date.parse(server)
  return canonical(file) === canonical(server)
}

function canonical(value: unknown): string {
  const members = asMembers(value)
  return JSON.stringify(members === undefined ? value : Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const withoutNull = (members: object) => Object.fromEntries(Object.entries(members).filter(([, it]) => it !== null))

const camelCase = (name: string) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
