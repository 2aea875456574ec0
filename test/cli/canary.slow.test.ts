import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Entry, type Leaf, leaf } from '../../src/cli/command/leaf.js'
import { leavesOfEntries } from '../../src/cli/command/tree.js'
import type { Flag } from '../../src/cli/flags/flags.js'
import { formats } from '../../src/cli/flags/globals.js'
import { entries } from '../../src/cli/program.js'
import { run as runSources } from '../../src/cli/run.js'
import { environment, handedIn, handedOut, leaksBelow, leaksIn } from '../support/canary.js'
import { bundle } from '../support/cli/built-cli.js'
import { cli, type Given, redeemCode, type StubResponse, stub, success, temporaryDir } from '../support/cli/cli.js'
import { matrix } from '../support/cli/matrix.js'
import { homeWithProfiles } from '../support/cli/profiles.js'
import { issuedVoucher, leafCalls } from '../support/cli/samples.js'
import { closedPort } from '../support/closed-port.js'

const planted = { ...handedIn, ...handedOut }
const leaves = (await leavesOfEntries(entries)).map(([names, leaf]) => [names.join(' '), leaf] as const)

/** Commands that print secrets on stdout, with the names of these secrets. */
const prints: Readonly<Record<string, readonly string[]>> = {
  'tokens create': ['new token'],
  'bots get': ['new bot token'],
  'bots regenerate-token': ['new bot token'],
  'webhook set': ['new webhook secret'],
  'vouchers issue': ['new code', 'new QR token'],
  'server env': [
    'token of the profile',
    'bot token of the profile',
    'account JWT of the profile',
    'operator key of the profile',
  ],
}
/** Commands that print whole responses; canary-session.slow.test.ts checks that the server logs no secret. */
const printAll = ['api', 'secure call', 'server logs', 'platform activity']

const credentials = [
  { type: 'redeem_code', value: handedOut['new code'] },
  { type: 'qr_token', value: handedOut['new QR token'] },
]

/** Response data for a command; every member that may hold a secret holds one. */
function responseDataFor(path: string): unknown {
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

/** An error response that echoes the whole request, as a careless proxy may send. */
const echoing = (status: number, { headers, path, body }: { headers: object; path: string; body: unknown }) => {
  const echo = { headers, path, body, all: JSON.stringify({ headers, path, body }) }
  const errors = [{ pointer: '/credential', code: 'x', message: echo.all, suggestion: echo.all }]
  const error = { success: false, code: status === 400 ? 'VALIDATION_FAILED' : 'BROKEN', message: echo.all }
  return { status, body: { ...error, retryable: false, details: { echo, errors }, requestId: 'req_1' } }
}

interface Fixture {
  readonly home: string
  readonly files: Readonly<Record<'token' | 'secret' | 'body' | 'rows', string>>
}

function fixture(baseUrl: string, { stored }: { stored: boolean }): Fixture {
  const home = temporaryDir()
  const credentialOf = (value: string) => ({ value, origin: new URL(baseUrl).origin })
  const own = {
    token: credentialOf(handedIn['token of the profile']),
    bot: credentialOf(handedIn['bot token of the profile']),
    jwt: credentialOf(handedIn['account JWT of the profile']),
    operator: credentialOf(handedIn['operator key of the profile']),
  }
  const profiles = { default: { base_url: baseUrl, ...(stored ? { credentials: own } : {}) } }
  homeWithProfiles(profiles, home)
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

/** A valid value for a flag or an operand, chosen by the name or by parsing candidates. */
function valueFor(name: string, flag: Pick<Flag<unknown>, 'read' | 'choices'> | undefined, { files }: Fixture): string {
  if (/secret-file/.test(name)) return files.secret
  if (/body|input|headers/.test(name)) return files.body
  if (name === 'qr-token') return handedIn['QR token that is redeemed']
  if (name === 'code' && flag?.choices === undefined) return handedIn['code that is redeemed']
  if (name === 'FILE' || name === 'file') return files.rows
  if (name === 'METHOD') return 'POST'
  if (name === 'PATH') return '/api/v1/open-platform/vouchers/verify'
  if (name === 'out' || name === 'errors') return join(files.rows, '..', `${name}.txt`)
  const candidates = [
    flag?.choices?.[0] ?? 'x_01',
    '0',
    '1',
    '30s',
    'a=b',
    'http://127.0.0.1:9/hook',
    '2026-11-21T10:00:00Z',
  ]
  return candidates.find((it) => flag?.read([it]).ok ?? true) ?? 'x_01'
}

/** A command line with all required values; with `all`, also each flag that takes a secret or adds output. */
function lineOf(path: string, { flags = {}, positional, second }: Leaf, at: Fixture, all: boolean): string[] {
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

let respond: (request: Parameters<Parameters<typeof stub>[0]>[0]) => StubResponse = () => success({})
let serving: Awaited<ReturnType<typeof stub>> | undefined

/** Starts the server of a test, which `respond` controls. */
async function server() {
  serving = await stub((request) => respond(request))
  return serving.baseUrl
}

/** In the search of all commands, each is aborted after this time in ms, because some run until Ctrl-C. */
const RUN_MS = 150

/** Runs a command and searches its output for secrets: `onStderr` and `onStdout`. */
async function runAndSearch(args: readonly string[], given: Given) {
  const ran = await cli(args, given)
  return { ran, onStderr: leaksIn(ran.stderr, planted), onStdout: leaksIn(ran.stdout, planted) }
}

interface Situation {
  readonly name: string
  readonly formats: readonly string[]
  readonly url: string
  readonly handler: typeof respond
  readonly flags?: readonly string[]
}

/** Only commands that print a secret run in every output format: all commands share the encoders. */
function situationsOf(path: string, baseUrl: string, down: string, all: boolean): Situation[] {
  const response: Situation = {
    name: 'response',
    formats: path in prints ? formats : ['table', 'json'],
    url: baseUrl,
    handler: () => success(responseDataFor(path)),
  }
  const format = all ? ['json'] : ['table']
  const dryRun = { ...response, name: 'dry run', formats: format, handler: () => success({}), flags: ['--dry-run'] }
  // Error responses cannot reach a command that calls no server.
  if (matrix[path]?.local) return [{ ...response, formats: format }, dryRun]
  return [
    response,
    dryRun,
    { name: 'refusal', formats: format, url: baseUrl, handler: (request) => echoing(400, request) },
    all
      ? { name: 'failure', formats: format, url: baseUrl, handler: (request) => echoing(500, request) }
      : { name: 'no response', formats: format, url: down, handler: () => ({ drop: true }) },
  ]
}

async function leaksOf(path: string, it: Leaf, given: () => Given): Promise<string[]> {
  const found = new Set<string>()
  const baseUrl = await server()
  const down = `http://127.0.0.1:${await closedPort()}`
  for (const all of [false, true]) {
    const at = fixture(baseUrl, { stored: all })
    const line = lineOf(path, it, at, all)
    const kept = all && line.includes('--save')
    const allowed = kept ? [] : (prints[path] ?? (printAll.includes(path) ? Object.keys(handedOut) : []))
    for (const { name: situation, formats, url, handler, flags = [] } of situationsOf(path, baseUrl, down, all)) {
      respond = handler
      for (const format of formats) {
        const more = ['--debug', '--retries', '0', '--no-input', '--base-url', url, '-o', format]
        // One run gets the credential from a file, also if the command needs another kind.
        const file = all && situation === 'refusal' ? ['--token-file', at.files.token] : []
        const own = { home: at.home, ...(all ? {} : { env: environment }), ...given() }
        const { onStderr, onStdout } = await runAndSearch([...line, ...more, ...flags, ...file], own)
        const where = `${line.join(' ')} (${situation}, ${format})`
        for (const name of onStderr) found.add(`${name} on stderr of ${where}`)
        const mayPrint = situation === 'response' ? allowed : []
        for (const name of onStdout.filter((one) => !mayPrint.includes(one))) found.add(`${name} on stdout of ${where}`)
      }
    }
    rmSync(join(at.home, 'given'), { recursive: true })
    rmSync(join(at.home, '.config', 'voucherctl', 'config.json'), { force: true })
    for (const leak of leaksBelow(at.home, planted)) found.add(`file ${leak}`)
  }
  return [...found]
}

test.each(leaves)(
  'the command %s writes no secret to stderr or files, nor to stdout in a dry run or error',
  { tags: 'hidden-values/1' },
  async (path, it) => {
    const given = () => ({ run: bundle.run, signal: AbortSignal.timeout(RUN_MS) })
    expect(await leaksOf(path, it, given)).toEqual([])
  },
)

test.each(Object.entries(prints))(
  'the command %s prints the secrets that it is for and no other secret',
  async (path, names) => {
    const baseUrl = await server()
    const at = fixture(baseUrl, { stored: true })
    const it = leaves.find(([name]) => name === path)?.[1] as Leaf
    respond = () => success(responseDataFor(path))
    const { onStdout } = await runAndSearch([...lineOf(path, it, at, false), '--json', '--base-url', baseUrl], {
      home: at.home,
    })
    expect(onStdout.sort()).toEqual([...names].sort())
  },
)

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
])('the secret search of this test finds a secret that a new command writes %s', async (where, run, report) => {
  const node = leaky('leaky', run)
  const entry: Entry = { name: 'leaky', summary: where, section: 'x', load: async () => node }
  ;(entries as Entry[]).push(entry)
  try {
    expect((await leaksOf('leaky', node, () => ({ run: runSources }))).join('\n')).toMatch(report)
  } finally {
    ;(entries as Entry[]).pop()
  }
})

test.each(Object.entries(planted))(
  'the test helper leaksIn finds the "%s" in JSON, hex, base64, a URL and lower case',
  (name, secret) => {
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
  },
)
