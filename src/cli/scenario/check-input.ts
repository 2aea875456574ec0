import { type Endpoint, membersOf } from '../../contract/endpoint.js'
import { unescapePointer } from '../../contract/envelope.js'
import { typeHint } from '../../files/yaml-document.js'
import type { Members } from '../../values/json.js'
import { inputSchema } from '../schemas/scenario-schema.js'
import type { StepExpectation } from './document.js'
import { referencesIn } from './variables.js'

interface InputMistake {
  readonly path: readonly string[]
  readonly message: string
  /** True for a number, boolean or null in place of a text of the URL, which would be sent as a different text. */
  readonly isChanged: boolean
}

/** Finds the mistakes in `with`. In `input`, values replace references to `vars`. */
export type InputCheck = (endpoint: Endpoint, input: Members) => readonly InputMistake[]

/** True unless the step expects a refusal that precedes the handler, such as for invalid input. */
export const mayReachHandler = ({ failures }: Endpoint, { status, code }: StepExpectation) =>
  code === undefined ? (status ?? 0) < 400 : failures.some((it) => it === code)

/** Creates a check by the schemas of the contract, with the server's validator. @param root name of the input */
export async function inputCheck(root = 'with'): Promise<InputCheck> {
  const { lazyValidator, oncePer } = await import('../../server/http/schema-validator.js')
  const validatorOf = oncePer((endpoint: Endpoint) => lazyValidator(inputSchema(endpoint)))
  return (endpoint, input) => {
    const inUrl = { ...membersOf(endpoint.params), ...membersOf(endpoint.query) }
    const typeInUrl = (name = '') => (Object.hasOwn(inUrl, name) ? (inUrl[name] as { type?: unknown }).type : undefined)
    // A URL carries every value as text.
    const asSent = Object.entries(input).map(([name, value]) => {
      const isNumber = typeInUrl(name) === 'integer' && typeof value === 'string' && /^\d+$/.test(value)
      return [name, isNumber ? Number(value) : value]
    })
    const issues = validatorOf(endpoint)(Object.fromEntries(asSent)) ?? []
    return issues.flatMap(({ pointer, code, message, suggestion }) => {
      const path = pointer.split('/').slice(1).map(unescapePointer)
      const isName = code === 'required' || code === 'additionalProperties'
      if (!isName && dependsOnVariable(input, path)) return []
      const hint = suggestion === undefined ? '' : `: ${suggestion}`
      const type = code === 'type' ? typeHint(input, path) : ''
      const isChanged = code === 'type' && typeInUrl(path[0]) === 'string'
      return [{ path, message: `${[root, ...path].join('.')} ${message}${hint}${type}`, isChanged }]
    })
  }
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
