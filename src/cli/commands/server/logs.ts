import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { platformActivity, requestLogEntry } from '../../../contract/platform/activity.js'
import { didYouMean } from '../../../values/closest.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { collect, openStream, untilBroken } from '../../command/stream-lines.js'
import { identify } from '../../config/local-server.js'
import { isGivenForCall } from '../../config/settings.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { toggle } from '../../flags/flags.js'
import { readTextFile } from '../../host/files.js'
import { type LogEntry, logLine, readEntry } from '../../output/log-line.js'
import type { Outcome } from '../../output/outcome.js'
import { refuseUnknownInContract } from '../../output/select-fields.js'
import { dataFlag, findServer, notRunning, operatorOf, remoteOf } from './folder.js'
import { filterFlags, matcherOf } from './log-filter.js'

export const logs = leaf({
  name: 'logs',
  summary: 'Show the requests of the local server, or the log of its last detached run',
  alsoCalls: { 'platform.requests': '' },
  notes: [
    'While a server runs: its last 1000 requests, without queries, headers and bodies. When none runs: server.log of the data folder. With --json one object a line.',
    'Requests that watch the server, sent by this command or as health checks, are shown only if --endpoint or --request-id names them.',
  ],
  flags: { ...dataFlag, follow: toggle('Go on until Ctrl-C'), ...filterFlags },
  examples: [
    'voucherctl server logs --follow --tail 10',
    'voucherctl server logs --status 4xx --status 5xx --endpoint vouchers.redeem',
    'voucherctl server logs --json',
  ],
  view: { line: logLine },
  run: async (context, { flags }): Promise<Outcome<LogEntry>> => {
    const unknown = await refuseUnknownEndpoints(flags.endpoint)
    if (unknown !== undefined) return unknown
    const target = await findTarget(context, flags.data)
    if ('ok' in target) return target
    announceSource(context, target)
    const wanted = { follow: flags.follow, tail: flags.tail, matches: matcherOf(flags) }
    return target.credential === undefined
      ? readLogFile(context, target.dir, wanted)
      : readRequests(context, target.baseUrl, target.credential, wanted)
  },
})

interface Wanted {
  readonly follow: boolean
  readonly tail: number | undefined
  matches(entry: LogEntry): boolean
}

async function refuseUnknownEndpoints(ids: readonly string[]): Promise<Failure | undefined> {
  if (ids.length === 0) return undefined
  const { endpoints } = await import('../../../contract/index.js')
  const known = [...endpoints.map((it) => it.id), 'health.live', 'health.ready', 'health.metrics']
  const unknown = ids.find((it) => !known.includes(it))
  if (unknown === undefined) return undefined
  const hint = didYouMean(unknown, known, '`voucherctl api routes` lists the endpoints.')
  return usage(`There is no endpoint ${unknown}.`, hint)
}

type LogTarget = { readonly dir: string; readonly baseUrl: string; readonly credential: string | undefined }

/** Finds the server whose log to print: at --base-url or of a remote profile, else in the data folder. */
async function findTarget(context: Context, data: string | undefined): Promise<LogTarget | Failure> {
  const { settings } = context
  const remote = data === undefined && !isGivenForCall(settings.baseUrl) ? remoteOf(settings) : undefined
  const found = remote === undefined ? findServer(context, data) : undefined
  if (found?.ok === false) return found
  const { data_dir: dir = null, base_url: url = remote ?? null, server } = found ?? {}
  if (url !== null || dir === null) {
    const baseUrl = url ?? ''
    const credential = await context.credential('operator', baseUrl)
    return credential.ok ? { dir: '', baseUrl, credential: credential.value } : credential
  }
  const identity = server === undefined ? 'other' : await identify(server)
  if (server === undefined || identity === 'other') return { dir, baseUrl: '', credential: undefined }
  if (identity === 'silent')
    return fail('NETWORK_ERROR', `The server of ${dir} does not respond on ${server.base_url}.`)
  const operator = await operatorOf(context, dir, server)
  return operator.ok ? { dir, baseUrl: server.base_url, credential: operator.target?.credential } : operator
}

/** Prints the path or server of the log to stderr on a terminal; scripts get only the log lines. */
function announceSource({ host, output }: Context, { dir, baseUrl }: LogTarget): void {
  if (host.stderr.isTTY !== true) return
  const requestsOf = dir === '' ? `Requests of ${baseUrl}.` : `Requests of ${baseUrl}, the local server of ${dir}.`
  output.notice(baseUrl === '' ? `No server runs in ${dir}: its last log.` : requestsOf)
}

async function readRequests(
  context: Context,
  baseUrl: string,
  token: string,
  { follow, tail, matches }: Wanted,
): Promise<Outcome<LogEntry>> {
  const { fields } = context.globals
  const unknown = fields && refuseUnknownInContract(fields, requestLogEntry)
  if (unknown !== undefined) return unknown
  const target = { baseUrl, token }
  // The stream does not mark where past entries end, so --tail reads them with a separate call.
  const past =
    follow && tail === undefined ? undefined : await openStream(context, target, platformActivity.requests, {})
  if (past?.ok === false) return past
  const read = past && (await collect<LogEntry>(untilBroken(past.value, context.host.signal)))
  if (read?.ok === false) return read
  const known = read?.value ?? []
  const shown = lastOf(known.filter(matches), tail)
  if (!follow) return { ok: true, lines: linesOf(shown) }
  const opened = await openStream(context, target, platformActivity.requests, { follow: 'true' })
  if (!opened.ok) return opened
  const ids = new Set(known.map((it) => it.request_id))
  const isNew = (it: LogEntry) => !ids.has(it.request_id) && matches(it)
  return { ok: true, lines: withNew(shown, untilBroken(opened.value, context.host.signal), isNew) }
}

const lastOf = (entries: readonly LogEntry[], tail = Number.POSITIVE_INFINITY) =>
  entries.slice(Math.max(0, entries.length - tail))

async function* withNew(
  past: readonly LogEntry[],
  entries: AsyncGenerator<LogEntry, Failure | undefined>,
  matches: (entry: LogEntry) => boolean,
): AsyncGenerator<LogEntry, Failure | undefined> {
  yield* past
  for (;;) {
    const { value, done } = await entries.next()
    if (done) return value
    if (matches(value)) yield value
  }
}

async function readLogFile(
  context: Context,
  dir: string,
  { follow, tail, matches }: Wanted,
): Promise<Outcome<LogEntry>> {
  const { globals } = context
  const path = join(dir, 'server.log')
  if (follow || !existsSync(path)) return notRunning(context, dir)
  const read = await readTextFile(context.host, path)
  if (!read.ok) return read
  const entries = read.text
    .split('\n')
    .filter((line) => line !== '')
    .map(readEntry)
  const unknown = globals.fields && refuseUnknownInLog(entries, globals.fields)
  return unknown ?? { ok: true, lines: linesOf(lastOf(entries.filter(matches), tail)) }
}

async function* linesOf(entries: readonly LogEntry[]): AsyncGenerator<LogEntry, undefined> {
  yield* entries
  return undefined
}

/** Refuses `--fields` names that neither the schema of requests nor any entry of this log has. */
function refuseUnknownInLog(entries: readonly LogEntry[], fields: readonly string[]): Failure | undefined {
  const properties = Object.fromEntries(entries.flatMap((it) => Object.keys(it)).map((name) => [name, {}]))
  return refuseUnknownInContract(fields, { properties: { ...properties, ...requestLogEntry.properties, msg: {} } })
}
