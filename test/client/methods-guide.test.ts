import { expect, test } from 'vitest'
import { type Endpoint, membersOf, pathParameters } from '../../src/contract/endpoint.js'
import { endpoints } from '../../src/contract/index.js'
import { nameOf } from '../../src/contract/openapi/schema.js'
import type { Schema } from '../../src/contract/schema.js'

const requiredOf = (schema: Schema | undefined) =>
  (schema as { required?: readonly string[] } | undefined)?.required ?? []
const code = (text: string) => `\`${text}\``
const hasPages = ({ output }: Endpoint) => 'pagination' in membersOf(output)

/** Names of all members but `page` and `limit` of lists, with a question mark for optional ones. */
function inputOf(endpoint: Endpoint): string {
  const { path, query, body } = endpoint
  const members = [query, body].flatMap((schema) =>
    Object.keys(membersOf(schema)).map((name) => (requiredOf(schema).includes(name) ? name : `${name}?`)),
  )
  const ofList = hasPages(endpoint) ? ['page?', 'limit?'] : []
  const names = [...new Set([...pathParameters(path), ...members])].filter((it) => !ofList.includes(it))
  return names.length === 0 ? '' : `{${names.join(', ')}}`
}

function resultOf(endpoint: Endpoint): string {
  const { output, streams } = endpoint
  const { items } = (membersOf(output).items as { items?: unknown } & Schema) ?? {}
  const name = nameOf(output) ?? (items === undefined ? undefined : `${nameOf(items) ?? 'record'}[]`)
  const text = name ?? `{${Object.keys(membersOf(output)).join(', ')}}`
  return `${code(text)}${hasPages(endpoint) ? ', pages' : ''}${streams ? ', stream' : ''}`
}

function rowOf(endpoint: Endpoint): string {
  const { id, caller, scope } = endpoint
  const row = `- ${code(`${id}(${inputOf(endpoint)})`)}: ${resultOf(endpoint)}`
  return scope === undefined ? row : `${row}; ${caller} ${code(scope)}`
}

const rowsOf = (fits: (endpoint: Endpoint) => boolean) => endpoints.filter(fits).map(rowOf).join('\n')

const document = `# Methods of the client library

Every method of a [client](client-library.md) with its input and result, generated from the contract. \`?\` marks optional input. \`pages\`: the method takes \`page?\` and \`limit?\` too, and has \`pages()\`. \`stream\`: \`data\` is an async iterable.

With a token and a scope:

${rowsOf((it) => it.scope !== undefined)}

With an account JWT:

${rowsOf((it) => it.caller === 'jwt')}

With the operator key:

${rowsOf((it) => it.caller === 'operator')}
`

test('each client method is in one list of the guide', () => {
  expect(document.match(/^- `[a-z]+\.[A-Za-z]+\(/gm)).toHaveLength(endpoints.length)
})

test('the guide lists input, result, credential and scope of each client method', async () => {
  await expect(document).toMatchFileSnapshot('../../src/guides/client-methods.md')
})
