import type { Exchange } from '../../contract/activity.js'
import { CAPTURED_BYTES_MAX, HIDDEN } from '../../contract/captured.js'
import type { RequestLogEntry } from '../../contract/platform.js'
import { bytesOf, textOf } from './bytes.js'

// Texts that repeat a call elsewhere. None of them has a secret: the server replaced them by HIDDEN.

/** Environment variables of the command line for credentials, by the paths of the calls that take them. */
const variables = [
  [/^\/_platform\//, 'VOUCHERCTL_OPERATOR_KEY'],
  [/^\/api\/v1\/(bots\/(applications|my)|open-platform\/applications)(\/|$)/, 'VOUCHERCTL_JWT'],
  [/^\/api\/v1\/bots\//, 'VOUCHERCTL_BOT_TOKEN'],
] as const

/** Variable with the credential for a path. */
export const credentialVariable = (path: string): string =>
  variables.find(([it]) => it.test(path))?.[1] ?? 'VOUCHERCTL_TOKEN'

/** Variable that stands for every other hidden text. */
const SECRET = 'SECRET'

type Sent = Exchange['request']

/** Why a request cannot be repeated from what was captured; undefined if it can. */
export function missingOf(exchange: Exchange | null): string | undefined {
  if (exchange === null) return 'The request was not captured.'
  const { body, body_bytes } = exchange.request
  if (body_bytes > CAPTURED_BYTES_MAX) return 'The body is longer than what was captured.'
  return body_bytes > 0 && body === null ? 'The body was not captured.' : undefined
}

/** Headers that curl writes itself, or that belong to one connection. */
const ownHeaders = /^(host|content-length|connection|accept-encoding|transfer-encoding|user-agent|keep-alive|expect)$/i

/** Quotes a text for a shell; a hidden part becomes a variable. */
const quoted = (text: string, variable = SECRET): string =>
  `'${text.replaceAll("'", "'\\''").replaceAll(HIDDEN, `'"$${variable}"'`)}'`

/** A command that sends the request again, with the credential from the environment. */
export function curlOf(request: Sent, baseUrl: string): string {
  const url = new URL(request.url, baseUrl)
  const words = [`curl -sSgi${request.method === 'GET' ? '' : ` -X ${request.method}`} ${quoted(urlText(url))}`]
  for (const [name, value] of request.headers) {
    if (ownHeaders.test(name)) continue
    words.push(`-H ${quoted(`${name}: ${value}`, isCredential(name) ? credentialVariable(url.pathname) : SECRET)}`)
  }
  if (request.body === null) return words.join(' \\\n  ')
  const text = textOf(bytesOf(request.body))
  if (text !== null && !text.includes('\0')) return [...words, `--data-raw ${quoted(text)}`].join(' \\\n  ')
  // A shell argument cannot hold every byte.
  return `printf %s ${request.body} | base64 -d | ${[...words, '--data-binary @-'].join(' \\\n  ')}`
}

const isCredential = (name: string) => name.toLowerCase() === 'authorization'

/** URL whose hidden parts are not escaped. */
const urlText = (url: URL) => url.href.replaceAll(encodeURIComponent(HIDDEN), HIDDEN)

type Call = Pick<RequestLogEntry, 'endpoint' | 'method' | 'path' | 'status' | 'code'>

/** Integers of queries; every other member of a path or a query is text. */
const integers = ['page', 'limit', 'buckets']

/** Flat input of the call: members of path, query and body; null for a body that is no JSON object. */
export function inputOf({ path }: Call, request: Sent): Record<string, unknown> | null {
  const url = new URL(request.url, 'http://localhost')
  const parts = url.pathname.split('/')
  const input: Record<string, unknown> = {}
  for (const [index, name] of (path ?? '').split('/').entries()) {
    if (name[0] === ':') input[name.slice(1)] = decodeURIComponent(parts[index] ?? '')
  }
  for (const [name, value] of url.searchParams) input[name] = integers.includes(name) ? Number(value) : value
  if (request.body === null) return input
  try {
    const body: unknown = JSON.parse(textOf(bytesOf(request.body)) ?? '')
    return body === null || typeof body !== 'object' || Array.isArray(body) ? null : { ...input, ...body }
  } catch {
    return null
  }
}

const idempotencyKeyOf = ({ headers }: Sent) => headers.find(([it]) => it.toLowerCase() === 'idempotency-key')?.[1]

/** JSON text without the characters that YAML or JavaScript do not take in a string. */
const json = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\x7f-\x9f\u2028\u2029\ufeff]/g,
    (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const plain = /^(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z_][\w-]*$/i

/** A value in YAML on one line. `$` before a brace is doubled, because it would begin a variable. */
function yaml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(yaml).join(', ')}]`
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).map(([name, it]) => `${yaml(name)}: ${yaml(it)}`)
    return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
  }
  if (typeof value !== 'string') return String(value)
  if (plain.test(value)) return value
  return json(value.replaceAll('${', '$${').replaceAll(HIDDEN, `\${env.${SECRET}}`))
}

/** A step of a scenario that makes the call and expects its result. */
export function stepOf(call: Call, request: Sent): string | null {
  const input = inputOf(call, request)
  if (input === null || call.endpoint === null) return null
  const key = idempotencyKeyOf(request)
  const members = Object.entries(input).map(([name, value]) => `    ${yaml(name)}: ${yaml(value)}`)
  return [
    `- call: ${call.endpoint}`,
    ...(members.length === 0 ? [] : ['  with:', ...members]),
    ...(key === undefined ? [] : [`  key: ${yaml(key)}`]),
    `  expect: ${yaml({ status: call.status, ...(call.code !== null && { code: call.code }) })}`,
    '',
  ].join('\n')
}

/** A step that waits for an update. */
export const receiveStepOf = (updateType: string): string => `- receive: ${yaml(updateType)}\n`

/** A value in JavaScript, indented. */
function literal(value: unknown, indent: string): string {
  if (value === null || typeof value !== 'object') {
    if (typeof value !== 'string' || !value.includes(HIDDEN)) return json(value)
    if (value === HIDDEN) return `process.env.${SECRET}`
    return value.split(HIDDEN).map(json).join(` + process.env.${SECRET} + `)
  }
  const inner = `${indent}  `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const members = Object.entries(value).map(([name, it]) => {
    const label = Array.isArray(value) ? '' : `${/^[a-z_]\w*$/i.test(name) ? name : json(name)}: `
    return `${inner}${label}${literal(it, inner)},\n`
  })
  return members.length === 0 ? `${open}${close}` : `${open}\n${members.join('')}${indent}${close}`
}

const testFile = (name: string, body: string): string => `import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startServer } from 'voucherctl/testing'

// The server has the records of its seed: use their ids, or pass a seed of your own.
let server
before(async () => {
  server = await startServer()
})
after(() => server.close())

test(${json(name)}, async () => {
${body}})
`

/** A test that makes the call and expects its result. */
export function testOf(call: Call, request: Sent): string | null {
  const input = inputOf(call, request)
  if (input === null || call.endpoint === null) return null
  const [group, method] = call.endpoint.split('.')
  const key = idempotencyKeyOf(request)
  const target = group === 'platform' ? 'operator' : `client.${group}`
  const options = key === undefined ? '' : `, { idempotencyKey: ${literal(key, '')} }`
  const values = Object.keys(input).length === 0 && !options ? '' : `${literal(input, '  ')}${options}`
  const check =
    call.code === null
      ? `  assert.equal(result.status, ${call.status}, result.message)\n`
      : `  assert.deepEqual([result.status, result.code], [${call.status}, ${json(call.code)}])\n`
  const name = `${call.endpoint} responds with ${call.code ?? call.status}`
  return testFile(name, `  const result = await server.${target}.${method}(${values})\n${check}`)
}

/** A test that waits for an update. */
export const receiveTestOf = (updateType: string): string =>
  testFile(
    `${updateType} is delivered`,
    `  // Call what causes the update here.
  const update = await server.receive(${json(updateType)}, { within: 5_000 })
  assert.equal(update.type, ${json(updateType)})
`,
  )
