import { endpointOf } from '../contract/index.js'
import type { DraftStep } from './convert.js'
import type { ScenarioDraft } from './draft.js'
import { type InPieces, isMembers, type Members, type RecordedEvent } from './events.js'
import { commentOf, indented, type WrittenSteps, writtenSteps } from './write.js'

/** Variables of a scenario file that a test has as literals: its server is new, and nothing listens at the address. */
const builtIn: Readonly<Record<string, string>> = {
  run: '1',
  'webhook.url': 'http://127.0.0.1:9/updates',
  'webhook.secret': 'a-secret-of-this-test',
}

/** Replaces what a test leaves out by a remark: its calls are those of the contract, and it receives no deliveries. */
export function forTest(event: RecordedEvent): RecordedEvent {
  const isRaw = event.kind === 'call' && event.target.includes(' ')
  if (isRaw) return { kind: 'note', text: `${event.target} at ${event.at}: a test makes calls of the contract only.` }
  if (event.kind !== 'attempt') return event
  return { kind: 'note', text: `A delivery of ${event.type} at ${event.at}: a test leaves it out.` }
}

/** Formats a test for node:test that makes the calls of a draft on a new server of `voucherctl/testing`. */
export async function testText(draft: ScenarioDraft, inPieces: InPieces): Promise<WrittenSteps> {
  const { parts, ending, ...written } = await writtenSteps(draft, stepText, inPieces)
  const { call, expect } = draft.steps.at(-1)?.members ?? {}
  const { code, status = 'a success' } = isMembers(expect) ? expect : {}
  const title = `${call ?? 'a recording'} responds with ${code ?? status}`
  const remarks = commentOf(ending, '//')
  return { ...written, parts: [headOf(title, draft.autoApprove), ...parts, indented(remarks), '})\n'] }
}

/** A constant, so that no tool takes generated imports for imports of this module. */
const IMPORT = 'import'

const headOf = (title: string, autoApprove: boolean) => `// Run it with node --test, where voucherctl is installed.
${IMPORT} assert from 'node:assert/strict'
${IMPORT} { test } from 'node:test'
${IMPORT} { createClient } from 'voucherctl/client'
${IMPORT} { startServer } from 'voucherctl/testing'

test(${sourceOf(title)}, async (t) => {
  const server = await startServer({ seed: { account: 'test' }${autoApprove ? ', autoApprove: true' : ''} })
  t.after(() => server.close())
  const { baseUrl, transport, operatorKey: operator } = server
  const account = await server.operator.issueAccountToken({ accountId: 'test', expires_in_seconds: 31_536_000 })
  const credentials = { operator, jwt: account.data.jwt }
  const as = (kind) => createClient({ baseUrl, transport, token: credentials[kind], retry: { tries: 1 } })
  const values = {}
  let result
`

function stepText(step: DraftStep): string {
  const lines =
    'advance' in step.members ? [`server.clock.advance(${sourceOf(step.members.advance)})`] : callLines(step)
  return `\n${indented(`${commentOf(step.comments, '//')}${lines.join('\n')}\n`)}`
}

function callLines({ members, capture, use }: DraftStep): string[] {
  const { call, as = endpointOf(String(call))?.caller, with: input = {}, key, within, expect } = members
  const options = key === undefined ? '' : `, { idempotencyKey: ${sourceOf(key)} }`
  return [
    `result = await as('${as}').${call}(${sourceOf(input)}${options})`,
    // A repeated read waits for what changes; one read may come too early.
    ...assertions(within === undefined ? expect : undefined),
    ...Object.entries(capture).map(([name, jq]) => `values.${name} = result.data${memberOf(jq)}`),
    ...Object.entries(use).map(([kind, text]) => `credentials.${kind} = ${sourceOf(text)}`),
  ]
}

function assertions(expect: unknown): string[] {
  if (!isMembers(expect)) return ['assert.ok(result.ok, result.message)']
  const { status, code, replayed, data } = expect
  const both = `assert.deepEqual([result.status, result.code], [${status}, ${sourceOf(code)}])`
  return [
    status === undefined ? `assert.equal(result.code, ${sourceOf(code)})` : both,
    ...(replayed ? ['assert.ok(result.replayed)'] : []),
    ...Object.entries(isMembers(data) ? data : {}).map(
      ([name, value]) => `assert.deepEqual(result.data.${name}, ${sourceOf(value)})`,
    ),
  ]
}

/** Turns a jq expression of `jqOf` into members of JavaScript. */
const memberOf = (jq: string) =>
  jq.replace(/\[\] \| select\(\.type == ("\w+")\)/, '.find((it) => it.type === $1)').replace(/\.\[/g, '[')

/** Formats a JSON value as JavaScript, with `values.NAME` for each variable. */
function sourceOf(value: unknown): string {
  if (typeof value === 'string') return textSource(value)
  if (Array.isArray(value)) return `[${value.map(sourceOf).join(', ')}]`
  if (!isMembers(value)) return String(value)
  const members = Object.entries(value as Members).map(([name, it]) => `${nameSource(name)}: ${sourceOf(it)}`)
  const line = `{ ${members.join(', ')} }`
  if (members.length === 0) return '{}'
  return line.length <= LINE_MAX ? line : `{\n${members.map((it) => `${indented(it)},\n`).join('')}}`
}

/** Longest object on one line. */
const LINE_MAX = 80

/** A member `__proto__` must be an own one, as in JSON. */
const nameSource = (name: string) =>
  name === '__proto__' ? '["__proto__"]' : /^[A-Za-z_]\w*$/.test(name) ? name : json(name)

function textSource(text: string): string {
  // Each odd part is the name of a variable; `$${` stands for `${`.
  const parts = text
    .split(/(?<!\$)\$\{([^}]+)\}/)
    .map((it, at) => (at % 2 === 0 ? it.replaceAll('$${', () => '${') : it))
  const filled = parts.flatMap((it, at): { text?: string; code?: string }[] => {
    if (at % 2 === 0) return [{ text: it }]
    const own = builtIn[it]
    return [own === undefined ? { code: it.startsWith('env.') ? `process.${it}` : `values.${it}` } : { text: own }]
  })
  const [only, ...others] = filled.filter((it) => it.text !== '')
  if (only?.code !== undefined && others.length === 0) return only.code
  if (filled.every((it) => it.code === undefined)) return quoted(filled.map((it) => it.text).join(''))
  return `\`${filled.map((it) => (it.code === undefined ? escaped(it.text ?? '') : `\${${it.code}}`)).join('')}\``
}

const quoted = (text: string) => (/^[^'"\\\p{C}\p{Zl}\p{Zp}]*$/u.test(text) ? `'${text}'` : json(text))

/** JSON without characters that are invisible, or that show the code in another order than it runs. */
const json = (text: string) =>
  JSON.stringify(text).replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (it) => `\\u{${it.codePointAt(0)?.toString(16)}}`)

/** Text within a template literal. */
const escaped = (text: string) =>
  json(text)
    .slice(1, -1)
    .replaceAll('`', '\\`')
    .replaceAll('${', () => '\\${')
