import { type Endpoint, membersOf } from '../../../../contract/endpoint.js'
import { unescapePointer } from '../../../../contract/envelope.js'
import type { Members } from '../../../../values/json.js'
import { inputSchema } from '../../../schemas/scenario-schema.js'
import type { StepExpectation } from './document.js'
import { referencesIn } from './variables.js'

interface InputMistake {
  readonly path: readonly string[]
  readonly message: string
}

export type InputCheck = (endpoint: Endpoint, input: Members) => readonly InputMistake[]

/** True unless the step expects a refusal that precedes the handler, such as for invalid input. */
export const mayReachHandler = ({ failures }: Endpoint, { status, code }: StepExpectation) =>
  code === undefined ? (status ?? 0) < 400 : failures.some((it) => it === code)

/** Creates a check by the schemas of the contract. It loads the validator of the server. */
export async function inputCheck(): Promise<InputCheck> {
  const { lazyValidator, oncePer } = await import('../../../../server/http/schema-validator.js')
  const validatorOf = oncePer((endpoint: Endpoint) => lazyValidator(inputSchema(endpoint)))
  return (endpoint, input) => {
    const issues = validatorOf(endpoint)(asSent(endpoint, input)) ?? []
    return issues.flatMap(({ pointer, code, message, suggestion }) => {
      const path = pointer.split('/').slice(1).map(unescapePointer)
      const isName = code === 'required' || code === 'additionalProperties'
      if (!isName && dependsOnVariable(input, path)) return []
      const hint = suggestion === undefined ? '' : `: ${suggestion}`
      return [{ path, message: `${['with', ...path].join('.')} ${message}${hint}` }]
    })
  }
}

/** Converts path and query members to the type of their schema: a URL carries every value as text. */
function asSent({ params, query }: Endpoint, input: Members): Members {
  const members = { ...membersOf(params), ...membersOf(query) }
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      const { type } = (Object.hasOwn(members, name) ? members[name] : {}) as { type?: unknown }
      if (type === 'integer' && typeof value === 'string' && /^\d+$/.test(value)) return [name, Number(value)]
      if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return [name, String(value)]
      return [name, value]
    }),
  )
}

/** True if the value of a member, or of a record above it, refers to a variable. */
function dependsOnVariable(input: unknown, path: readonly string[]): boolean {
  let value = input
  for (const name of path) {
    if (typeof value === 'string') break
    value = typeof value === 'object' && value !== null ? (value as Members)[name] : undefined
  }
  return referencesIn(value).length > 0
}
