import { expect, test } from 'vitest'
import { type Endpoint, membersOf, pathParameters } from '../../src/contract/endpoint.js'
import { endpoints } from '../../src/contract/index.js'
import { nameOf } from '../../src/contract/openapi/schema.js'
import type { Schema } from '../../src/contract/schema.js'

const requiredOf = (schema: Schema | undefined) =>
  (schema as { required?: readonly string[] } | undefined)?.required ?? []
const code = (text: string) => `\`${text}\``

/** Names of all members, with a question mark for those that a call may omit. */
function inputOf({ path, query, body }: Endpoint): string {
  const members = [query, body].flatMap((schema) =>
    Object.keys(membersOf(schema)).map((name) => (requiredOf(schema).includes(name) ? name : `${name}?`)),
  )
  return [...new Set([...pathParameters(path), ...members])].join(', ')
}

function resultOf({ output, streams }: Endpoint): string {
  const { items } = (membersOf(output).items as { items?: unknown } & Schema) ?? {}
  const name = nameOf(output) ?? (items === undefined ? undefined : `${nameOf(items) ?? 'record'}[]`)
  const text = name ?? `{ ${Object.keys(membersOf(output)).join(', ')} }`
  return `${code(text)}${'pagination' in membersOf(output) ? ', pages' : ''}${streams ? ', stream' : ''}`
}

function rowOf(endpoint: Endpoint): string {
  const { id, caller, scope } = endpoint
  const input = inputOf(endpoint)
  const row = `| ${code(id)} | ${input === '' ? '' : code(input)} | ${resultOf(endpoint)} |`
  return scope === undefined ? row : `${row} ${caller} ${code(scope)} |`
}

const rowsOf = (fits: (endpoint: Endpoint) => boolean) => endpoints.filter(fits).map(rowOf).join('\n')

const document = `# Methods of the client library

Every method of a [client](client-library.md), generated from the contract. \`?\` marks optional input. \`pages\`: the method has \`pages()\`. \`stream\`: \`data\` is an async iterable.

| method | input | result | credential, scope |
|---|---|---|---|
${rowsOf((it) => it.scope !== undefined)}

With an account JWT:

| method | input | result |
|---|---|---|
${rowsOf((it) => it.caller === 'jwt')}

With the operator key:

| method | input | result |
|---|---|---|
${rowsOf((it) => it.caller === 'operator')}
`

test('each client method is in one table of the guide', () => {
  expect(document.match(/^\| `[a-z]+\.[A-Za-z]+`/gm)).toHaveLength(endpoints.length)
})

test('the guide lists input, result, credential and scope of each client method', async () => {
  await expect(document).toMatchFileSnapshot('../../src/guides/client-methods.md')
})
