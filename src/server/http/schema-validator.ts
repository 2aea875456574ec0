import { Compile, type Validator } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { escapePointer, unescapePointer, type ValidationIssue } from '../../contract/envelope.js'
import type { Schema } from '../../contract/schema.js'
import { ISSUES_MAX, unknownMember } from './body.js'

// Import this module lazily: the compiler of schemas takes 15 ms to load.

/** The default maximum of 8 errors could hide the errors that distinguish the alternatives of a union. */
Settings.Set({ maxErrors: 200 })

/** Caches the result of `make` per key object, so that all servers of one process share compiled schemas. */
export function oncePer<K extends object, V extends object>(make: (key: K) => V): (key: K) => V {
  const cache = new WeakMap<K, V>()
  return (key) => {
    const cached = cache.get(key)
    if (cached !== undefined) return cached
    const value = make(key)
    cache.set(key, value)
    return value
  }
}

const validatorOf = oncePer((schema: Schema): Validator => Compile(schema))

/** Returns a validator that compiles its schema at the first use, because most processes use only a few. */
export function lazyValidator(schema: Schema): (value: unknown) => ValidationIssue[] | null {
  return (value) => {
    const validator = validatorOf(schema)
    return validator.Check(value) ? null : issuesOf(schema, validator.Errors(value) as SchemaError[])
  }
}

interface SchemaError {
  keyword: string
  schemaPath: string
  instancePath: string
  params: Record<string, unknown>
  message: string
}

function issuesOf(schema: Schema, errors: SchemaError[]): ValidationIssue[] {
  const issues: ValidationIssue[] = []
  for (const error of withoutOtherAlternatives(errors)) {
    const place = resolve(schema, error.schemaPath)
    switch (error.keyword) {
      case 'required':
        for (const name of error.params.requiredProperties as string[]) {
          issues.push({
            pointer: `${error.instancePath}/${escapePointer(name)}`,
            code: 'required',
            message: 'is required',
          })
        }
        break
      case 'additionalProperties':
        // A map allows every member name; its values report their own errors.
        if (place.additionalProperties !== false) break
        for (const name of error.params.additionalProperties as string[]) {
          issues.push(unknownMember(error.instancePath, name, Object.keys((place.properties ?? {}) as object)))
        }
        break
      case 'boolean':
      case 'propertyNames':
      case 'anyOf':
        break
      default:
        issues.push({ pointer: error.instancePath, code: error.keyword, message: messageOf(place, error) })
    }
  }
  return [...new Map(issues.map((issue) => [`${issue.pointer} ${issue.code}`, issue])).values()].slice(0, ISSUES_MAX)
}

function messageOf(place: Record<string, unknown>, error: SchemaError): string {
  const expected = place['x-expected']
  if (typeof expected === 'string') return `must be ${expected}`
  const allowed = error.params.allowedValues
  if (Array.isArray(allowed)) return `must be one of ${allowed.filter((it) => it !== null).join(', ')}`
  return error.message
}

/** Keeps only the errors of the alternative that the member `type` selects in a union. */
function withoutOtherAlternatives(errors: SchemaError[]): SchemaError[] {
  const unions = errors.filter((error) => error.keyword === 'anyOf')
  return unions.reduce((rest, union) => narrow(rest, union), errors)
}

function narrow(errors: SchemaError[], union: SchemaError): SchemaError[] {
  const inside = errors.filter((error) => error.schemaPath.startsWith(`${union.schemaPath}/anyOf/`))
  const branchOf = (error: SchemaError) => error.schemaPath.slice(`${union.schemaPath}/anyOf/`.length).split('/')[0]
  const branches = new Set(inside.map(branchOf))
  const otherType = inside.filter(
    (error) => error.keyword === 'const' && error.instancePath === `${union.instancePath}/type`,
  )
  const excluded = new Set(otherType.map(branchOf))
  const rest = errors.filter((error) => !inside.includes(error))
  const meant = [...branches].filter((branch) => !excluded.has(branch))
  if (meant.length > 0) return [...rest, ...inside.filter((error) => branchOf(error) === meant[0])]
  const allowedValues = otherType.map((error) => error.params.allowedValue)
  return [
    ...rest,
    {
      ...union,
      keyword: 'enum',
      instancePath: `${union.instancePath}/type`,
      schemaPath: '#',
      params: { allowedValues },
    },
  ]
}

function resolve(schema: Schema, schemaPath: string): Record<string, unknown> {
  let place: unknown = schema
  for (const part of schemaPath.split('/').slice(1)) {
    place = (place as Record<string, unknown> | undefined)?.[unescapePointer(decodeURIComponent(part))]
  }
  return typeof place === 'object' && place !== null ? (place as Record<string, unknown>) : {}
}
