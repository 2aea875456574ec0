import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { leavesOf } from '../../src/cli/command/help.js'
import { type Entry, type Leaf, leaf } from '../../src/cli/command/leaf.js'
import type { Flag } from '../../src/cli/flags/flags.js'
import { formats } from '../../src/cli/flags/globals.js'
import { page } from '../../src/cli/program.js'
import { run as runSources } from '../../src/cli/run.js'
import { bundle } from '../support/built-cli.js'
import { environment, handedIn, handedOut, leaksBelow, leaksIn } from '../support/canary.js'
import { cli, type Given, redeemCode, type StubAnswer, stub, success, temporaryDir } from '../support/cli.js'
import { matrix } from '../support/cli-matrix.js'
import { issuedVoucher, leafCalls } from '../support/cli-samples.js'
import { closedPort } from '../support/closed-port.js'

const planted = { ...handedIn, ...handedOut }
const leaves: [path: string, leaf: Leaf][] = []
for (const entry of page) {
  const node = await entry.load()
  for (const [names, it] of leavesOf(node)) leaves.push([[node.name, ...names].join(' '), it])
}

/** Commands whose result is a secret, which they print once on stdout. */
const prints: Readonly<Record<string, readonly string[]>> = {
  'tokens create': ['new token'],
  'bots get': ['new bot token'],
  'bots regenerate-token': ['new bot token'],
  'webhook set': ['new webhook secret'],
  'vouchers issue': ['new code', 'new QR token'],
}
/** Commands that print whole responses; canary-story.slow.test.ts checks the log of the server. */
const printAll = ['api', 'secure call', 'server logs']

const credentials = [
  { type: 'redeem_code', value: handedOut['new code'] },
  { type: 'qr_token', value: handedOut['new QR token'] },
]

/** Response data for a command with a secret in every member that may contain one. */
function answerTo(path: string): unknown {
  const data = leafCalls[path]?.data as Record<string, unknown> | undefined
  if (data === undefined) return { ...issuedVoucher, credentials, items: [], jwt: handedOut['new JWT'] }
  return {
    ...data,
    ...('token' in data ? { token: handedOut['new token'] } : {}),
    ...('one_time_token' in data || path === 'bots get' ? { one_time_token: handedOut['new bot token'] } : {}),
    ...(path === 'webhook set' ? { one_time_secret_token: handedOut['new webhook secret'] } : {}),
    ...('credentials' in data ? { credentials } : {}),
  }
}

/** An error response that echoes the whole request, like that of a careless proxy. */
const repeating = (status: number, { headers, path, body }: { headers: object; path: string; body: unknown }) => {
  const seen = { headers, path, body, all: JSON.stringify({ headers, path, body }) }
  const errors = [{ pointer: '/credential', code: 'x', message: seen.all, suggestion: seen.all }]
  const said = { success: false, code: status === 400 ? 'VALIDATION_FAILED' : 'BROKEN', message: seen.all }
  return { status, body: { ...said, retryable: false, details: { seen, errors }, requestId: 'req_1' } }
}

interface Scene {
  readonly home: string
  readonly files: Readonly<Record<'token' | 'secret' | 'body' | 'rows', string>>
}

function scene(baseUrl: string, { stored }: { stored: boolean }): Scene {
  const home = temporaryDir()
  const dir = join(home, '.config', 'voucherctl')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const kept = (value: string) => ({ value, origin: new URL(baseUrl).origin })
  const own = {
    token: kept(handedIn['token of the profile']),
    bot: kept(handedIn['bot token of the profile']),
    jwt: kept(handedIn['account JWT of the profile']),
    operator: kept(handedIn['operator key of the profile']),
  }
  const profiles = { default: { base_url: baseUrl, ...(stored ? { credentials: own } : {}) } }
  writeFileSync(join(dir, 'config.json'), JSON.stringify({ current: 'default', profiles }), { mode: 0o600 })
  const credential = { type: 'redeem_code', value: handedIn['code that is redeemed'] }
  const contents = {
    token: handedIn['token of a file'],
    secret: handedIn['webhook secret of a file'],
    body: JSON.stringify({
      credential,
      secret_token: handedIn['webhook secret of a file'],
      update_id: 1,
      type: 'ping',
    }),
    rows: 'external_issue_id,recipient_user_id\norder-1,user-1\norder-2,user-2\n',
  }
  mkdirSync(join(home, 'given'))
  const put = (name: keyof typeof contents) => {
    writeFileSync(join(home, 'given', name), contents[name], { mode: 0o600 })
    return join(home, 'given', name)
  }
  return { home, files: { token: put('token'), secret: put('secret'), body: put('body'), rows: put('rows') } }
}

/** A valid value for a flag or an operand, chosen by its name or by trial. */
function valueFor(name: string, flag: Pick<Flag<unknown>, 'read' | 'choices'> | undefined, { files }: Scene): string {
  if (/secret-file/.test(name)) return files.secret
  if (/body|input|headers/.test(name)) return files.body
  if (name === 'qr-token') return handedIn['QR token that is redeemed']
  if (name === 'code' && flag?.choices === undefined) return handedIn['code that is redeemed']
  if (name === 'FILE' || name === 'file') return files.rows
  if (name === 'METHOD') return 'POST'
  if (name === 'PATH') return '/api/v1/open-platform/vouchers/verify'
  if (name === 'out' || name === 'errors') return join(files.rows, '..', `${name}.txt`)
  const tries = [
    flag?.choices?.[0] ?? 'x_01',
    '0',
    '1',
    '30s',
    'a=b',
    'http://127.0.0.1:9/hook',
    '2026-11-21T10:00:00Z',
  ]
  return tries.find((it) => flag?.read([it]).ok ?? true) ?? 'x_01'
}

/** A command with all required values; with `all` also every flag that takes a secret or prints more. */
function lineOf(path: string, { flags = {}, positional, second }: Leaf, at: Scene, all: boolean): string[] {
  const sample = leafCalls[path]?.args
    .replace(redeemCode, handedIn['code that is redeemed'])
    .split(' ')
    .filter((it) => it !== '')
  const operands = [positional, second].flatMap((it) =>
    it?.ask === undefined ? [] : [valueFor(it.name, undefined, at)],
  )
  const args = [...path.split(' '), ...(sample ?? operands)]
  for (const [name, flag] of Object.entries(flags)) {
    const asked = sample === undefined && flag.ask !== undefined && !/recipient|qr-token/.test(name)
    const more = all && /secret|^code$|body|input|^save$|^curl$|^include$|explain|credential/.test(name)
    if (name === 'port') args.push('--port', '0')
    else if (name === 'log-level') args.push('--log-level', 'silent')
    else if ((asked || more) && !args.includes(`--${name}`)) {
      args.push(`--${name}`, ...(flag.value === undefined ? [] : [valueFor(name, flag, at)]))
    }
  }
  return args
}

let answering: (request: Parameters<Parameters<typeof stub>[0]>[0]) => StubAnswer = () => success({})
let serving: Awaited<ReturnType<typeof stub>> | undefined

/** Starts one server for all runs of a test. */
async function server() {
  serving = await stub((request) => answering(request))
  return serving.baseUrl
}

/** Commands that keep running are ended after this time in ms. */
const RUN_MS = 150

/** Runs a command and finds secrets: `beside` on stderr, `printed` on stdout, where some are expected. */
async function look(args: readonly string[], given: Given) {
  const ran = await cli(args, { ...given, signal: AbortSignal.timeout(RUN_MS) })
  return { ran, beside: leaksIn(ran.stderr, planted), printed: leaksIn(ran.stdout, planted) }
}

interface Situation {
  readonly name: string
  readonly formats: readonly string[]
  readonly url: string
  readonly answer: typeof answering
  readonly flags?: readonly string[]
}

/** All formats run only for commands that print a secret, since all commands share the encoders. */
function situationsOf(path: string, baseUrl: string, down: string, all: boolean): Situation[] {
  const response: Situation = {
    name: 'response',
    formats: path in prints ? formats : ['table', 'json'],
    url: baseUrl,
    answer: () => success(answerTo(path)),
  }
  const format = all ? ['json'] : ['table']
  const dryRun = { ...response, name: 'dry run', formats: format, answer: () => success({}), flags: ['--dry-run'] }
  // A command that calls no server behaves the same in the other situations.
  if (matrix[path]?.local) return [{ ...response, formats: format }, dryRun]
  return [
    response,
    dryRun,
    { name: 'refusal', formats: format, url: baseUrl, answer: (request) => repeating(400, request) },
    all
      ? { name: 'failure', formats: format, url: baseUrl, answer: (request) => repeating(500, request) }
      : { name: 'no response', formats: format, url: down, answer: () => ({ drop: true }) },
  ]
}

async function leaksOf(path: string, it: Leaf, run = bundle.run): Promise<string[]> {
  const found = new Set<string>()
  const baseUrl = await server()
  const down = `http://127.0.0.1:${await closedPort()}`
  for (const all of [false, true]) {
    const at = scene(baseUrl, { stored: all })
    const line = lineOf(path, it, at, all)
    const kept = all && line.includes('--save')
    const allowed = kept ? [] : (prints[path] ?? (printAll.includes(path) ? Object.keys(handedOut) : []))
    for (const { name: situation, formats, url, answer, flags = [] } of situationsOf(path, baseUrl, down, all)) {
      answering = answer
      for (const format of formats) {
        const more = ['--debug', '--retries', '0', '--no-input', '--base-url', url, '-o', format]
        // A token file fits one kind of credential, but every command gets one.
        const file = all && situation === 'refusal' ? ['--token-file', at.files.token] : []
        const given = { home: at.home, run, ...(all ? {} : { env: environment }) }
        const { beside, printed } = await look([...line, ...more, ...flags, ...file], given)
        const where = `${line.join(' ')} (${situation}, ${format})`
        for (const name of beside) found.add(`${name} on stderr of ${where}`)
        const mayPrint = situation === 'response' ? allowed : []
        for (const name of printed.filter((one) => !mayPrint.includes(one))) found.add(`${name} on stdout of ${where}`)
      }
    }
    rmSync(join(at.home, 'given'), { recursive: true })
    rmSync(join(at.home, '.config', 'voucherctl', 'config.json'), { force: true })
    for (const leak of leaksBelow(at.home, planted)) found.add(`file ${leak}`)
  }
  return [...found]
}

test.each(leaves)('%s leaks no secret on stderr, in a refusal, in a dry run or in a file', async (path, it) => {
  expect(await leaksOf(path, it)).toEqual([])
})

test.each(Object.entries(prints))('%s prints its one-time secrets and no other secret', async (path, names) => {
  const baseUrl = await server()
  const at = scene(baseUrl, { stored: true })
  const it = leaves.find(([name]) => name === path)?.[1] as Leaf
  answering = () => success(answerTo(path))
  const { printed } = await look([...lineOf(path, it, at, false), '--json', '--base-url', baseUrl], { home: at.home })
  expect(printed.sort()).toEqual([...names].sort())
})

const leaky = (name: string, run: Leaf['run']) =>
  leaf({ name, summary: 'Leaks', flags: {}, examples: [], run: run as never })

test.each<[string, Leaf['run'], RegExp]>([
  [
    'on stdout',
    async ({ host, output }) => {
      output.say(Buffer.from(`x${host.env.VOUCHERCTL_TOKEN}`).toString('base64'))
      return { ok: true, printed: true }
    },
    /token of the environment on stdout/,
  ],
  [
    'on stderr',
    async ({ host }) => {
      host.stderr.write(`${host.env.VOUCHERCTL_WEBHOOK_SECRET?.toUpperCase()}`)
      return { ok: true, printed: true }
    },
    /webhook secret of the environment on stderr/,
  ],
  [
    'in a file',
    async ({ host }) => {
      writeFileSync(
        join(host.cwd, 'cache.bin'),
        Buffer.concat([Buffer.alloc(9), Buffer.from(`${host.env.VOUCHERCTL_JWT}`)]),
      )
      return { ok: true, printed: true }
    },
    /file cache\.bin: account JWT of the environment/,
  ],
])('leak check reports a secret %s of a newly added command', async (where, run, told) => {
  const node = leaky('leaky', run)
  const entry: Entry = { name: 'leaky', summary: where, section: 'x', load: async () => node }
  ;(page as Entry[]).push(entry)
  try {
    expect((await leaksOf('leaky', node, runSources)).join('\n')).toMatch(told)
  } finally {
    ;(page as Entry[]).pop()
  }
})

test.each(Object.entries(planted))('leaksIn finds the %s in each of its encodings', (name, secret) => {
  const bytes = Buffer.from(secret)
  for (const text of [
    `a${secret}b`,
    JSON.stringify({ a: `"${secret}"` }),
    secret.toLowerCase(),
    secret.replaceAll('-', ''),
    bytes.toString('hex'),
    `?x=${encodeURIComponent(secret)}`,
    ...['', 'a', 'ab', 'abc'].map((before) => Buffer.from(`${before}${secret}:z`).toString('base64url')),
  ]) {
    expect([text, leaksIn(text, planted)]).toEqual([text, expect.arrayContaining([name])])
  }
  expect(leaksIn(Buffer.concat([Buffer.from([0, 255]), bytes, Buffer.from([0])]), planted)).toContain(name)
  expect(leaksIn('nothing of the kind: sop_CANA…, …T4FJ, eyJ…', planted)).toEqual([])
})
