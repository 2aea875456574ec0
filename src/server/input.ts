import type { FastifyRequest } from 'fastify'
import { type Endpoint, membersOf } from '../contract/endpoint.js'
import type { ValidationIssue } from '../contract/envelope.js'
import type { Refusal } from '../contract/errors.js'
import type { ObjectSchema } from '../contract/schema.js'
import { type CheckedHandler, invalid } from './handler.js'
import type { Form } from './http/form.js'

interface ReadInput {
  readonly ok: true
  readonly value: Record<string, unknown>
}

/** The flat input of a call, validated by its schemas and then by the check of its handler. */
export function readInput(
  request: FastifyRequest,
  querySchema: ObjectSchema,
  body: unknown,
  validate: Form['validate'],
  check: CheckedHandler<Endpoint>['check'] | undefined,
): ReadInput | Refusal<'VALIDATION_FAILED'> {
  const params = request.params as Record<string, string>
  const query = readQuery(request.query as Record<string, unknown>, querySchema)
  const issues = validate(params, query, body) ?? conflictOf(query, body) ?? check?.(body) ?? []
  if (issues.length > 0) return invalid(...issues)
  return { ok: true, value: { ...params, ...query, ...(body as object | undefined) } }
}

/** Query values are text: whole numbers, true and false are read where the contract wants them, nothing else is. */
function readQuery(query: Record<string, unknown>, schema: ObjectSchema): Record<string, unknown> {
  const members = membersOf(schema)
  const read = Object.entries(query).map(([name, value]) => {
    const { type } = (members[name] ?? {}) as { type?: string }
    if (type === 'integer' && typeof value === 'string' && /^\d{1,15}$/.test(value)) return [name, Number(value)]
    if (type === 'boolean' && (value === 'true' || value === 'false')) return [name, value === 'true']
    return [name, value]
  })
  // Not by assignment, which would lose a member named __proto__ before it is refused.
  return Object.fromEntries(read)
}

/** A member that the query and the body both name must have one value. */
function conflictOf(query: Record<string, unknown>, body: unknown): ValidationIssue[] | null {
  const inBody = (body ?? {}) as Record<string, unknown>
  const name = Object.keys(query).find((it) => Object.hasOwn(inBody, it) && inBody[it] !== query[it])
  if (name === undefined) return null
  return [{ pointer: `/${name}`, code: 'conflict', message: 'differs between the query and the body' }]
}
