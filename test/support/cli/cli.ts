import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Check, Host, Questions } from '../../../src/cli/host/host.js'
import { listen } from '../listen.js'
import { chunksOf } from '../server/request-body.js'
import { bundle } from './built-cli.js'
import { unrunnable } from './runnable.js'

export interface Given {
  readonly env?: Record<string, string>
  readonly stdin?: string
  /** Whether stdin, stdout and stderr are a terminal. */
  readonly terminal?: boolean
  /** Columns of a terminal; by default 80 of stdout, and enough of stderr for each message. */
  readonly columns?: number
  /** Replies to the prompts in order; undefined means Ctrl-C. */
  readonly replies?: readonly (string | boolean | readonly string[] | undefined)[]
  readonly home?: string
  readonly cwd?: string
  readonly signal?: AbortSignal
  readonly self?: Host['self']
  /** Number of lines after which the reader of stdout closes the pipe. */
  readonly linesTaken?: number
  /** Called with each text that the command writes to stderr. */
  readonly onStderr?: (text: string) => void
  /** Called with each text that the command writes to stdout. */
  readonly onStdout?: (text: string) => void
  /** First time of the fake clock in Unix ms, default 0; each reading advances the clock by 1 ms. */
  readonly now?: number
  /** Minutes by which the local time is ahead of UTC; default 0. */
  readonly zone?: Host['zone']
  /** Creates idempotency keys and run ids; by default key-1, key-2 … in each command. */
  readonly newId?: () => string
  /** Function to run instead of the built bundle's, for a test that adds a command to the sources. */
  readonly run?: typeof bundle.run
}

/** Columns of stderr unless a test names them, so that messages are on one line. */
const WIDE = 1_000

export interface Ran {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
  /** Messages of the prompts, and their objections to replies. */
  readonly asked: readonly string[]
  /** Words with summaries of each prompt that offers a list. */
  readonly offered: (readonly [value: string, summary: string])[][]
}

export function temporaryDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'voucherctl-test-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Unused home folders, which later commands of the test file reuse. */
const emptyHomes: string[] = []

function emptyHome(): string {
  const home = emptyHomes.pop()
  if (home !== undefined) return home
  onTestFinished(() => void emptyHomes.splice(0))
  return temporaryDir()
}

/** Runs a command of the built bundle in this process, with fake streams, environment and clock. */
export async function cli(args: string | readonly string[], given: Given = {}): Promise<Ran> {
  const argv = typeof args === 'string' ? args.split(' ').filter((it) => it !== '') : args
  const home = given.home ?? emptyHome()
  const written = { stdout: '', stderr: '' }
  const asked: string[] = []
  const replies = [...(given.replies ?? [])]
  const reply = async (message: string) => {
    asked.push(message)
    if (replies.length === 0) throw new Error(`No reply is left for: ${message}`)
    return replies.shift() as never
  }
  /** Takes replies until one is valid, as the prompts of a terminal do. */
  const valid = async (message: string, check: Check = () => undefined) => {
    for (let asks = message; ; ) {
      const text: string | undefined = await reply(asks)
      const wrong = text === undefined ? undefined : check(text)
      if (wrong === undefined) return text
      asks = wrong
    }
  }
  const offered: Ran['offered'] = []
  const search: Questions['search'] = (message, words, check) => {
    offered.push(words.map(({ value, summary }) => [value, summary]))
    return valid(message, check)
  }
  const questions: Questions = {
    text: valid,
    search,
    secret: reply,
    confirm: reply,
    key: reply,
    choose: reply,
    chooseSome: reply,
  }
  const columns = { stdout: given.columns, stderr: given.columns ?? WIDE }
  const out = (name: keyof typeof written) => ({
    write: (text: string | Uint8Array) => {
      const shown = typeof text === 'string' ? text : Buffer.from(text).toString('latin1')
      written[name] += shown
      if (name === 'stderr') given.onStderr?.(shown)
      else given.onStdout?.(shown)
    },
    isTTY: given.terminal ?? false,
    ...(columns[name] === undefined ? {} : { columns: columns[name] }),
  })
  const gone = new AbortController()
  const { linesTaken } = given
  // A real pipe reports a failed write after the write has returned.
  const settled = async () => {
    await new Promise((resolve) => setImmediate(resolve))
    if (linesTaken !== undefined && written.stdout.split('\n').length - 1 > linesTaken) gone.abort()
  }
  let time = given.now ?? 0
  let id = 0
  const host: Host = {
    stdin: {
      isTTY: given.terminal ?? false,
      async *[Symbol.asyncIterator]() {
        yield given.stdin ?? ''
      },
    },
    stdout: { ...out('stdout'), gone: gone.signal, settled },
    stderr: out('stderr'),
    env: given.env ?? {},
    cwd: given.cwd ?? home,
    homeDir: home,
    now: () => (time += 1),
    zone: given.zone ?? (() => 0),
    newId: given.newId ?? (() => `key-${(id += 1)}`),
    version: () => '9.9.9',
    document: (path) => readFileSync(join(import.meta.dirname, '..', '..', '..', path), 'utf8'),
    signal: given.signal ?? new AbortController().signal,
    self: given.self ?? [process.execPath, 'bin/voucherctl.js'],
    questions: async () => questions,
  }
  const exit = await (given.run ?? bundle.run)(argv, host)
  const wrong = await unrunnable(stderrText(written.stderr))
  if (wrong.length > 0) throw new Error(`Suggestions that cannot be run:\n${wrong.join('\n')}`)
  // Creating and removing a folder takes longer than many commands, so reuse an empty one.
  if (given.home === undefined && readdirSync(home).length === 0) emptyHomes.push(home)
  return { exit, ...written, asked, offered }
}

/** Stderr without the escapes of an error object. */
const stderrText = (stderr: string) => (stderr.startsWith('{"error"') ? stderr.replaceAll('\\"', '"') : stderr)

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: unknown
}

export interface StubResponse {
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Record<string, string>
  /** Close the connection instead of a response. */
  readonly drop?: boolean
}

export interface Stub {
  readonly baseUrl: string
  readonly received: Received[]
}

function parsedOrText(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Starts an HTTP server that records its requests (malformed bodies as text) and sends what the callback returns. */
export async function stub(respond: (request: Received, index: number) => StubResponse): Promise<Stub> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await chunksOf(request)).toString('utf8')
    const { method = '', url = '', headers } = request
    const one = { method, path: url, headers, body: parsedOrText(text) }
    const index = received.push(one) - 1
    const { status = 200, body, headers: more = {}, drop } = respond(one, index)
    if (drop) return request.socket.destroy()
    // The clock of the command is fake, and relative times count from the Date header.
    response.sendDate = false
    response.writeHead(status, { 'content-type': 'application/json', ...more })
    return response.end(JSON.stringify(body))
  })
  return { baseUrl: `http://127.0.0.1:${await listen(server)}`, received }
}

export const success = (data: unknown, status = 200): StubResponse => ({
  status,
  body: { success: true, data, requestId: 'req_1' },
})

export const refusal = (status: number, code: string, details: Record<string, unknown> = {}): StubResponse => ({
  status,
  body: { success: false, code, message: `Refused as ${code}.`, retryable: false, details, requestId: 'req_2' },
})

/** A fake credential of each kind; tests search output for the word CANARY. */
export const secrets = {
  VOUCHERCTL_TOKEN: 'sop_CANARYtokenCANARYtokenCANARYtoken123456',
  VOUCHERCTL_BOT_TOKEN: 'sbot_CANARYbotCANARYbotCANARYbotCANARY12345',
  VOUCHERCTL_JWT: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkZW1vIiwiZXhwIjoyMDAwMDAwMDAwfQ.CANARYjwtCANARYjwtCANARY',
  VOUCHERCTL_OPERATOR_KEY: 'opk_CANARYoperatorCANARYoperatorCANARY1234',
} as const

export const redeemCode = 'M9S3-46Q3-D25V-T4FJ'
