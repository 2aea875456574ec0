import { isTrustedChannel } from '../../../client/base-url.js'
import { refusePlain } from '../../../client/secure.js'
import { isTransportError } from '../../../client/transport.js'
import { requestLogEntry, requests } from '../../../contract/platform.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { findLocalServer, readOperatorKey } from '../../config/local-server.js'
import { identify } from '../../config/server-identity.js'
import { type Failure, fail, fromCall } from '../../failure.js'
import { toggle } from '../../flags/flags.js'
import { parseObject } from '../../host/parse-object.js'
import { refuseUnknownInContract } from '../../output/fields.js'
import type { Outcome } from '../../output/outcome.js'
import { dataFlag, notRunning, remoteOf, serverFolder } from './folder.js'

type LogEntry = Readonly<Record<string, unknown>>

export const logs = leaf({
  name: 'logs',
  summary: 'Show the requests of the local server, or the log of its last detached run',
  notes: [
    'While a server runs: its last 1000 requests, without queries, headers and bodies. When none runs: server.log of the data folder. With --json one object a line.',
  ],
  flags: { ...dataFlag, follow: toggle('Go on until Ctrl-C') },
  examples: [{ command: 'voucherctl server logs --follow' }, { command: 'voucherctl server logs --json' }],
  view: { headline: lineOf },
  run: async (context, { flags }): Promise<Outcome<LogEntry>> => {
    const target = await findTarget(context, flags.data)
    if ('ok' in target) return target
    announceSource(context, target)
    return target.credential === undefined
      ? readLogFile(context, target.dir, flags.follow)
      : readRequests(context, target.baseUrl, target.credential, flags.follow)
  },
})

type LogTarget = { readonly dir: string; readonly baseUrl: string; readonly credential: string | undefined }

/** Finds the server whose log to print: from --base-url or a remote profile, else that of the data folder. */
async function findTarget(context: Context, data: string | undefined): Promise<LogTarget | Failure> {
  const { globals, settings } = context
  const named = data === undefined ? (globals['base-url'] ?? remoteOf(settings)) : undefined
  if (named !== undefined) {
    const credential = await context.credential('operator', named)
    return credential.ok ? { dir: '', baseUrl: named, credential: credential.value } : credential
  }
  const folder = serverFolder(context, data)
  if (!folder.ok) return folder
  const { dir } = folder
  const server = findLocalServer(dir)
  const identity = server === undefined ? 'other' : await identify(server)
  if (server === undefined || identity === 'other') return { dir, baseUrl: '', credential: undefined }
  if (identity === 'silent') return fail('NETWORK_ERROR', `The server of ${dir} does not answer on ${server.base_url}.`)
  const credential = readOperatorKey(server)
  if (credential !== undefined) return { dir, baseUrl: server.base_url, credential }
  return fail(
    'CREDENTIAL_REQUIRED',
    'The local server has no operator API.',
    'Start it with --operator on; its log is on its stderr.',
  )
}

/** Prints the path or server of the log to stderr on a terminal; scripts get only the log lines. */
function announceSource({ host, output }: Context, { dir, baseUrl }: LogTarget): void {
  if (host.stderr.isTTY !== true) return
  const folder = dir === '' ? '' : ` Its data folder is ${dir}.`
  output.notice(baseUrl === '' ? `No server runs in ${dir}: its last log.` : `Requests of ${baseUrl}.${folder}`)
}

async function readRequests(
  { host, settings, globals }: Context,
  baseUrl: string,
  token: string,
  follow: boolean,
): Promise<Outcome<LogEntry>> {
  const unknown = globals.fields && refuseUnknownInContract(globals.fields, requestLogEntry)
  if (unknown !== undefined) return unknown
  const refusal = refusePlain({
    mode: settings.secure.mode.value,
    trustedChannel: isTrustedChannel(baseUrl),
  })
  if (refusal !== undefined) return fail('SECURE_PLAIN_REFUSED', refusal.message, 'Use an https base URL for it.')
  const { createStream } = await import('../../../client/stream.js')
  const options = { signal: host.signal, timeoutMs: settings.timeoutMs.value }
  const opened = await createStream(baseUrl, { token })(requests, follow ? { follow: 'true' } : {}, options)
  return opened.ok ? { ok: true, lines: untilBroken(opened.data, host.signal) } : fromCall(opened)
}

/** Yields the log entries of a stream; if the stream breaks, it ends and returns the failure. */
async function* untilBroken(
  entries: AsyncIterable<LogEntry>,
  signal: AbortSignal,
): AsyncGenerator<LogEntry, Failure | undefined> {
  try {
    yield* entries
    return undefined
  } catch (error) {
    if (signal.aborted) return undefined
    if (isTransportError(error)) return fail('NETWORK_ERROR', `${error.message}.`, 'The server may have stopped.')
    throw error
  }
}

async function readLogFile(context: Context, dir: string, follow: boolean): Promise<Outcome<LogEntry>> {
  const { globals } = context
  const { readFile } = await import('node:fs/promises')
  const { join } = await import('node:path')
  const content = follow ? undefined : await readFile(join(dir, 'server.log'), 'utf8').catch(() => undefined)
  if (content === undefined) return notRunning(dir)
  const lines = content.split('\n').filter((line) => line !== '')
  const unknown = globals.fields && refuseUnknownInLog(lines, globals.fields)
  return unknown ?? { ok: true, lines: entriesOf(lines) }
}

const entryOf = (line: string): LogEntry => parseObject(line) ?? { msg: line }

async function* entriesOf(lines: readonly string[]): AsyncGenerator<LogEntry, undefined> {
  for (const line of lines) yield entryOf(line)
  return undefined
}

/** Refuses `--fields` names that neither the schema of requests nor any line of this log has. */
function refuseUnknownInLog(lines: readonly string[], fields: readonly string[]): Failure | undefined {
  const members = new Set(lines.flatMap((line) => Object.keys(entryOf(line))))
  const properties = Object.fromEntries([...members].map((name) => [name, {}]))
  return refuseUnknownInContract(fields, { properties: { ...properties, ...requestLogEntry.properties, msg: {} } })
}

/** Formats a log line for a person. */
function lineOf(entry: LogEntry): string {
  // Copy the argument: `sentence` passes a proxy that throws when a member is missing, and members may be missing here.
  const { time, method, path, status, code, duration_ms, msg }: LogEntry = { ...entry }
  if (method === undefined) return [time, msg].filter((it) => it !== undefined).join(' ')
  const took = typeof duration_ms === 'number' ? `${duration_ms.toFixed(1)} ms` : undefined
  return [time, status, method, path ?? '-', code, took].filter((it) => it !== undefined && it !== null).join(' ')
}
