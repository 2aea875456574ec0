import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { updateTypes } from '../../../contract/updates.js'
import { codeOf } from '../../../files/error-code.js'
import { pause } from '../../../files/pause.js'
import { replaceFile } from '../../../files/replace-file.js'
import { inboxBytes } from '../../../workbench/inbox.js'
import { InboxWriter } from '../../../workbench/inbox-writer.js'
import { emptyResponse, type Listener, type ListenerOptions, startListener } from '../../../workbench/listener.js'
import type { ListenerPage } from '../../../workbench/page/server.js'
import { parseScript, type ScriptedResponse, scriptedResponses } from '../../../workbench/responses.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { type Failure, fail } from '../../failure.js'
import {
  excluding,
  type Flag,
  integer,
  list,
  one,
  type ParseResult,
  path,
  toggle,
  type ValuesOf,
} from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { inboxDirOf, inboxFailure, inboxFlag } from './inbox-dir.js'
import { LineQueue, lineShape } from './listen-lines.js'
import { openPage, pageFlags } from './listen-page.js'
import { receiverUrl } from './receiver-url.js'
import { matchesWildcard, Router, routeFlag } from './routes.js'
import { namedSecrets, sharedStdin, signingSecrets } from './secrets.js'

const DEFAULT_PORT = 8787
const INBOX_BYTES_LARGE = 1024 ** 3
const DELAY_MS_MAX = 600_000

/** A repeatable flag `TYPE=VALUE` that accepts each update type once. */
function byType<T>(
  value: string,
  summary: string,
  read: (text: string) => ParseResult<T>,
): Flag<ReadonlyMap<string, T>> {
  return {
    value,
    summary,
    repeatable: true,
    read: (texts) => {
      const values = new Map<string, T>()
      for (const it of texts) {
        const [, type = '', rest = ''] = /^([A-Za-z0-9_.-]+)=(.+)$/.exec(it) ?? []
        if (type === '') return { ok: false, message: `must be ${value}` }
        if (values.has(type)) return { ok: false, message: `names ${type} twice` }
        const one = read(rest)
        if (!one.ok) return one
        values.set(type, one.value)
      }
      return { ok: true, value: values }
    },
  }
}

const listenFlags = {
  port: integer('N', `Port, default ${DEFAULT_PORT}; 0 takes any free one`, 0, 65_535),
  'secret-file': list('FILE|-', 'A secret that signs'),
  'forward-to': receiverUrl('Application that gets verified deliveries'),
  route: routeFlag,
  respond: excluding(
    one<readonly [ScriptedResponse, ...ScriptedResponse[]]>(
      'LIST',
      'Respond without an application: 500,timeout,200',
      (it) => {
        const responses = parseScript(it)
        return responses === undefined
          ? { ok: false, message: 'must be statuses from 200 to 599, or timeout, separated by commas' }
          : { ok: true, value: responses }
      },
    ),
    'forward-to',
    'route',
  ),
  delay: integer('MS', 'Wait these milliseconds before each response', 0, DELAY_MS_MAX),
  expect: byType('TYPE=N', 'End with 0 after N updates of a type', (it) =>
    /^[1-9]\d{0,6}$/.test(it)
      ? { ok: true, value: Number(it) }
      : { ok: false, message: 'must be TYPE=N with N from 1 on' },
  ),
  'max-events': integer('N', 'End with 0 after N verified deliveries', 1, 1_000_000_000),
  'ready-file': path('FILE', 'Write url, port and pid here once it listens'),
  ...inboxFlag,
  insecure: toggle('Show refused deliveries too'),
  ...pageFlags,
}
type ListenFlags = ValuesOf<typeof listenFlags>

export const listen = leaf({
  name: 'listen',
  summary: 'Receive webhooks on this machine: verify, record, pass on to an application',
  notes: [
    'It listens on 127.0.0.1, on any path. A delivery is verified over the bytes that arrived, and is in the inbox on disk before the response; one that is not verified gets 401 with the reason.',
    'The application gets body and headers byte for byte, and its response goes back: 502 if nothing listens there, 504 after 14 s. Without an application the response is 200. A repeat of what was accepted is not passed on.',
    'With --expect the command ends with 124 after --timeout, default 30 s. `voucherctl help local-webhooks` describes routes, repeats, and the members of --json.',
  ],
  flags: listenFlags,
  output: lineShape,
  streams: true,
  examples: [
    { command: 'voucherctl webhook listen --secret-file secret.txt --forward-to http://localhost:3000/hook' },
    {
      command:
        "voucherctl webhook listen --secret-file secret.txt --route 'voucher_*=http://localhost:3001/' --route '.message.text == \"hi\"=http://localhost:3002/'",
      comment: 'Several applications',
    },
    {
      command: 'voucherctl webhook listen --secret-file secret.txt --expect message=2 --timeout 30s --json',
      comment: 'In CI: exits with 0 as soon as both have arrived',
    },
    {
      command: 'voucherctl webhook listen --secret-file secret.txt --respond 500,timeout,200',
      comment: 'See how the sender repeats',
    },
  ],
  run: async (context, { flags }) => {
    const { host } = context
    const files = flags['secret-file']
    const shared = sharedStdin(context, { 'secret-file': files })
    if (shared !== undefined) return shared
    const secrets = await (flags.insecure ? namedSecrets(host, files) : signingSecrets(context, files))
    if (!secrets.ok) return secrets
    if (context.dryRun) {
      return context.plan(`listen on 127.0.0.1:${flags.port ?? DEFAULT_PORT}, inbox ${inboxDirOf(host, flags.inbox)}`)
    }
    return receive(context, flags, secrets.value)
  },
})

async function receive(context: Context, flags: ListenFlags, secrets: readonly string[]): Promise<Outcome<never>> {
  const { host, settings } = context
  const { port = DEFAULT_PORT, expect } = flags
  const dir = inboxDirOf(host, flags.inbox)
  const readyFile = flags['ready-file'] === undefined ? undefined : resolve(host.cwd, flags['ready-file'])
  const { JqThread } = await import('../../output/jq/jq-thread.js')
  const router = new Router(flags.route, new JqThread(), host.signal)
  const invalid = await router.check()
  if (invalid !== undefined) {
    router.close()
    return invalid
  }
  let inbox: InboxWriter
  try {
    // Remove the ready file of an earlier run, so that nobody reads it before this listener is ready.
    if (readyFile !== undefined) rmSync(readyFile, { force: true })
    inbox = new InboxWriter(dir)
  } catch (error) {
    return inboxFailure(error, dir)
  }

  // Import on demand: the module loads TLS, which other webhook commands do not need.
  const { Forwarder } = await import('../../../workbench/forwarding.js')
  const forwarder = new Forwarder()
  const script = flags.respond === undefined ? undefined : scriptedResponses(flags.respond)
  const ended = new AbortController()
  const pauses = new AbortController()
  let events = 0
  const arrived = new Map([...expect.keys()].map((type) => [type, new Set<string>()]))
  const missing = () =>
    [...expect]
      .map(([type, expected]) => ({ type, expected, arrived: arrived.get(type)?.size ?? 0 }))
      .filter((it) => it.arrived < it.expected)
  const lines = new LineQueue(context, secrets, flags.insecure)
  const appOf = async (type: string | null, body: Buffer) => (await router.select(type, body)) ?? flags['forward-to']
  const app: ListenerOptions['app'] = async (delivery, type) => {
    if (flags.delay !== undefined) await pause(flags.delay, pauses.signal)
    const scripted = script?.()
    if (scripted !== undefined) return emptyResponse(scripted === 'timeout' ? null : scripted)
    const to = await appOf(type, delivery.body)
    return to === undefined ? emptyResponse(200) : forwarder.send(to, delivery)
  }

  let page: ListenerPage | undefined
  try {
    let listener: Listener
    try {
      listener = await startListener({
        port,
        secrets,
        inbox,
        app,
        now: host.now,
        eventsMax: flags['max-events'],
        drained: () => lines.drained(),
        onRequest: (event) => {
          lines.add(event)
          page?.add(event)
          if (event.update?.type) arrived.get(event.update.type)?.add(event.update.id)
          if (event.verdict === 'ok') events += 1
          const isEnough = events === flags['max-events'] || (expect.size > 0 && missing().length === 0)
          if (isEnough) ended.abort()
        },
      })
    } catch (error) {
      return portFailure(error, port)
    }
    const limitMs = expect.size > 0 || context.globals.timeout !== undefined ? settings.timeoutMs.value : undefined
    const timer = limitMs === undefined ? undefined : setTimeout(() => ended.abort(), limitMs)
    try {
      if (readyFile !== undefined) {
        const ready = `${JSON.stringify({ url: listener.url, port: listener.port, pid: process.pid })}\n`
        replaceFile(readyFile, ready, { isPrivate: false, flush: false, follow: false })
      }
      showReady(context, flags, listener.url, dir, inboxBytes(dir) > INBOX_BYTES_LARGE)
      if (flags.open) {
        const tools = { secrets, forwarder, inbox, appOf, now: host.now }
        page = await openPage(context, flags, { ...tools, dir, address: listener.url })
      }
      await firstOf([ended.signal, host.signal, ...(host.stdout.gone === undefined ? [] : [host.stdout.gone])])
    } catch (error) {
      return fail('FILE_UNWRITABLE', `${readyFile} cannot be written (${codeOf(error)}).`)
    } finally {
      clearTimeout(timer)
      // End --delay for deliveries that have arrived: forward them now.
      pauses.abort()
      await listener.close()
      await page?.close()
      await lines.end()
    }
  } finally {
    forwarder.close()
    router.close()
    await inbox.close()
    if (readyFile !== undefined) rmSync(readyFile, { force: true })
  }
  const done = { ok: true, printed: true } as const
  if (host.signal.aborted || host.stdout.gone?.aborted) return done
  if (missing().length > 0) return notAllArrived(missing(), settings.timeoutMs.value)
  const wanted = flags['max-events']
  if (expect.size > 0 || wanted === undefined || events >= wanted) return done
  return fail('NOT_ALL_ARRIVED', `${events} of ${wanted} deliveries arrived in time.`)
}

/** Prints that the listener is ready and what it does, even if stderr is not a terminal. */
function showReady({ output }: Context, flags: ListenFlags, url: string, dir: string, isLarge: boolean): void {
  if (output.options.format !== 'table') return
  const named = flags.route.filter(({ kind }) => kind !== 'jq').map(({ condition }) => condition)
  const unknown = [...flags.expect.keys(), ...named].filter(
    (it) => !updateTypes.some((type) => matchesWildcard(it, type)),
  )
  for (const type of new Set(unknown)) output.notice(`warning: no update of the reference server has the type ${type}.`)
  const routes = flags.route.map(({ condition, to }) => `${condition} to ${to.href}`)
  const rest =
    flags['forward-to'] === undefined ? [] : [`${routes.length > 0 ? 'others ' : ''}to ${flags['forward-to'].href}`]
  const where = [...routes, ...rest].join(', ')
  const responses =
    flags.respond === undefined
      ? 'Nothing is passed on; the response is 200.'
      : `Responds with ${flags.respond.join(', ')}.`
  output.notice(
    [
      `Ready on ${url}. Ctrl-C stops it.`,
      where === '' ? responses : `Passes on ${where}.`,
      `Inbox: ${dir}`,
      'Details of a delivery: `voucherctl webhook inbox show`',
      ...(isLarge ? ['warning: the inbox is above 1 GiB; see `voucherctl webhook inbox clear --before 7d`.'] : []),
      ...(flags.insecure ? ['INSECURE: deliveries that are not verified are shown too.'] : []),
    ].join('\n'),
  )
}

function notAllArrived(
  missing: readonly { type: string; expected: number; arrived: number }[],
  limitMs: number,
): Failure {
  const inWords = missing.map(({ type, expected, arrived }) => `${type} ${arrived} of ${expected}`).join(', ')
  return fail(
    'NOT_ALL_ARRIVED',
    `Within ${limitMs / 1000} s not all that was expected arrived: ${inWords}.`,
    'See what did with `voucherctl webhook inbox list`.',
    { missing },
  )
}

function portFailure(error: unknown, port: number): Failure {
  const code = codeOf(error)
  if (code === 'EADDRINUSE') {
    return fail(
      'EADDRINUSE',
      `Port ${port} on 127.0.0.1 is in use.`,
      'Choose another with --port N, or any with --port 0.',
    )
  }
  if (code === 'EACCES') return fail('EACCES', `Port ${port} is not open to you.`, 'Choose a port from 1024 on.')
  throw error
}

async function firstOf(signals: readonly AbortSignal[]): Promise<void> {
  const any = AbortSignal.any([...signals])
  if (!any.aborted) await new Promise((resolve) => any.addEventListener('abort', resolve, { once: true }))
}
