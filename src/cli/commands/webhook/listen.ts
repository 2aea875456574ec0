import { rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { updateTypes } from '../../../contract/updates.js'
import { codeOf } from '../../../files/error-code.js'
import { pause } from '../../../files/pause.js'
import { replaceFile } from '../../../files/replace-file.js'
import { shellWord } from '../../../values/shell-word.js'
import { inboxBytes } from '../../../workbench/inbox.js'
import { InboxWriter } from '../../../workbench/inbox-writer.js'
import {
  emptyResponse,
  type Listener,
  type ListenerOptions,
  type RequestEvent,
  startListener,
} from '../../../workbench/listener.js'
import type { PageRouteOptions } from '../../../workbench/page-server/routes.js'
import type { ListenerPage } from '../../../workbench/page-server/server.js'
import { parseScript, type ScriptedResponse, scriptedResponses } from '../../../workbench/responses.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { inboxDirOf } from '../../config/local-server.js'
import { leftOut } from '../../failures/call-failure.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import {
  at,
  excluding,
  type Flag,
  integer,
  list,
  one,
  type ParseResult,
  path,
  text,
  toArguments,
  toggle,
  type ValuesOf,
} from '../../flags/flags.js'
import { tryToWrite } from '../../host/files.js'
import type { Host } from '../../host/host.js'
import type { Outcome } from '../../output/outcome.js'
import { openBotSource, retryFlags } from './bot-source.js'
import { inboxFailure, inboxFlag } from './inbox-dir.js'
import { Goal } from './listen-goal.js'
import { type LineOptions, LineQueue, lineShape } from './listen-lines.js'
import { openPage, pageFlags } from './listen-page.js'
import { receiverUrl } from './receiver-url.js'
import { matchesWildcard, Router, routeFlag } from './routes.js'
import { keptSecret, keptSecretFile, lineOfSecret, namedSecrets, sharedStdin, signingSecrets } from './secrets.js'

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
  bot: at('botId', text('BOT', 'Id or username of the bot whose updates arrive here')),
  port: integer('N', `Port, default ${DEFAULT_PORT}, with --bot any free one, as 0`, 0, 65_535),
  'secret-file': list('FILE|-', 'A secret that signs'),
  'forward-to': receiverUrl('URL of the application that gets verified deliveries'),
  route: routeFlag,
  respond: excluding(
    one<readonly [ScriptedResponse, ...ScriptedResponse[]]>(
      'LIST',
      'Respond without an application: 500,timeout,200',
      (text) => {
        const responses = parseScript(text)
        return responses === undefined
          ? { ok: false, message: 'must be statuses from 200 to 599, or timeout, separated by commas' }
          : { ok: true, value: responses }
      },
    ),
    'forward-to',
    'route',
  ),
  ...retryFlags,
  delay: integer('MS', 'Wait these milliseconds before each response', 0, DELAY_MS_MAX),
  expect: byType('TYPE=N', 'End with 0 after N updates of a type', (text) =>
    /^[1-9]\d{0,6}$/.test(text)
      ? { ok: true, value: Number(text) }
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
  summary: 'Receive webhooks on this machine: verify, record and forward them',
  alsoCalls: { 'platform.borrowWebhook': '--bot BOT', 'platform.returnWebhook': '--bot BOT' },
  notes: [
    'It listens on 127.0.0.1, on any path. A delivery is in the inbox on disk before the response; one that is not verified gets 401 with the reason. The application gets body and headers byte for byte, and its response goes back: 502 if nothing listens there, 504 after 14 s.',
    'With --bot a local server delivers here until the end, then its earlier webhook is back. Updates of another server are polled, and retried after 1, 5, 15 and 60 minutes. Without a secret it makes $XDG_DATA_HOME/voucherctl/webhook-secret, and prints the line that gives it to the application.',
    'With --expect the command ends with 124 after --timeout, default 30 s. `voucherctl help local-webhooks` has more.',
  ],
  flags: listenFlags,
  output: lineShape,
  streams: true,
  examples: [
    {
      command: 'voucherctl webhook listen --bot coffee_bot --forward-to http://localhost:3000/hook',
      comment: 'Receive the updates of a bot; its webhook is put back at the end',
    },
    {
      command:
        "voucherctl webhook listen --route 'voucher_*=http://localhost:3001/' --route '.message.text == \"hi\"=http://localhost:3002/'",
    },
    {
      command: 'voucherctl webhook listen --expect message=2 --timeout 30s --json',
      comment: 'In CI: exits with 0 as soon as both have arrived',
    },
  ],
  run: async (context, { flags }) => {
    const { host } = context
    const files = flags['secret-file']
    const shared = sharedStdin(context, { 'secret-file': files })
    if (shared !== undefined) return shared
    if (flags['dead-letter'] !== undefined && flags.bot === undefined) return usage('--dead-letter needs --bot.')
    const isOptional = flags.insecure || flags.bot !== undefined
    const named = await (isOptional ? namedSecrets(host, files) : signingSecrets(context, files))
    if (!named.ok) return named
    if (context.dryRun) {
      if (flags.bot !== undefined) context.plan(`borrow the webhook of ${flags.bot}, or poll if the server is remote`)
      return context.plan(`listen on 127.0.0.1:${portOf(flags)}, inbox ${inboxDirOf(host, flags.inbox)}`)
    }
    const isKept = flags.bot !== undefined && named.value.length === 0
    const secrets = isKept ? await keptSecret(host) : named
    if (!secrets.ok) return secrets
    const [file = '-', ...others] = isKept ? [keptSecretFile(host)] : files
    // With --bot the first secret signs.
    const isSole = flags.bot !== undefined || others.length === 0
    const hasLine = file !== '-' && isSole && (flags['forward-to'] !== undefined || flags.route.length > 0)
    const line = hasLine ? lineOfSecret(resolve(host.cwd, file)) : undefined
    return receive(context, flags, { secrets: secrets.value, secretLine: line })
  },
})

const portOf = ({ bot, port = bot === undefined ? DEFAULT_PORT : 0 }: ListenFlags) => port

type Secrets = Pick<LineOptions, 'secrets' | 'secretLine'>

async function receive(context: Context, flags: ListenFlags, secrets: Secrets): Promise<Outcome<never>> {
  const { host } = context
  const { JqThread } = await import('../../output/jq.js')
  const router = new Router(flags.route, new JqThread(), host.signal)
  try {
    return (await router.check()) ?? (await withInbox(context, flags, secrets, router))
  } finally {
    router.close()
  }
}

/** Objects that the listener and its page share. */
type Tools = Omit<PageRouteOptions, 'address'> & Secrets & { readonly inbox: InboxWriter }

async function withInbox(
  context: Context,
  flags: ListenFlags,
  secrets: Secrets,
  router: Router,
): Promise<Outcome<never>> {
  const { host } = context
  const dir = inboxDirOf(host, flags.inbox)
  const readyFile = flags['ready-file'] === undefined ? undefined : resolve(host.cwd, flags['ready-file'])
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
  const appOf = async (type: string | null, body: Buffer) => (await router.select(type, body)) ?? flags['forward-to']
  try {
    return await listenUntilEnd(context, flags, readyFile, { ...secrets, dir, inbox, forwarder, appOf, now: host.now })
  } finally {
    forwarder.close()
    await inbox.close()
    if (readyFile !== undefined) rmSync(readyFile, { force: true })
  }
}

async function listenUntilEnd(
  context: Context,
  flags: ListenFlags,
  readyFile: string | undefined,
  tools: Tools,
): Promise<Outcome<never>> {
  const { host, settings } = context
  const { bot, expect, 'max-events': eventsMax } = flags
  const port = portOf(flags)
  const { secrets, inbox, now } = tools
  const ended = new AbortController()
  const pauses = new AbortController()
  const goal = new Goal(expect, eventsMax)
  const lines = new LineQueue(context, { ...flags, ...tools })
  let page: ListenerPage | undefined
  let source: { close(): Promise<void> } | undefined
  let failure: Failure | undefined
  const onFailure = (it: Failure) => {
    failure = it
    ended.abort()
  }
  const onRequest = (event: RequestEvent) => {
    lines.add(event)
    page?.add(event)
    if (goal.add(event)) ended.abort()
  }
  const app = applicationOf(flags, tools, pauses.signal)
  const drained = () => lines.drained()
  let listener: Listener
  try {
    listener = await startListener({ port, secrets, inbox, app, now, eventsMax, drained, onRequest })
  } catch (error) {
    return portFailure(error, port)
  }
  const hasLimit = expect.size > 0 || context.globals.timeout !== undefined
  const timer = hasLimit ? setTimeout(() => ended.abort(), settings.timeoutMs.value) : undefined
  try {
    const opened =
      bot === undefined
        ? undefined
        : await openBotSource(context, { ...flags, bot }, { listener, secret: secrets[0] as string }, onFailure)
    if (opened && 'code' in opened) return opened
    if (opened) source = opened
    goal.hint = leftOut(updateTypes.find((it) => expect.has(it) && opened?.allowed?.includes(it) === false))
    if (goal.hint) context.output.warn(goal.hint)
    const unwritable = readyFile === undefined ? undefined : writeReady(readyFile, listener)
    if (unwritable !== undefined) return unwritable
    showReady(context, flags, listener.url, tools)
    if (expect.size === 0 && eventsMax === undefined) host.endsWith?.('SIGTERM')
    if (flags.open)
      page = await openPage(context, flags, { ...tools, address: listener.url, startCommand: commandOf(host, flags) })
    await firstOf([ended.signal, host.signal, ...(host.stdout.gone === undefined ? [] : [host.stdout.gone])])
  } finally {
    clearTimeout(timer)
    // End --delay early: forward the deliveries that have arrived.
    pauses.abort()
    // End the deliveries before the listener, which responds to those that have arrived.
    await source?.close()
    await listener.close()
    await page?.close()
    await lines.end()
  }
  const isStopped = host.signal.aborted || host.stdout.gone?.aborted
  failure ??= isStopped ? undefined : goal.failure(settings.timeoutMs.value)
  return failure ?? { ok: true, printed: true }
}

/** The command that starts such a listener again, for its page: the query of a URL may be a secret. */
function commandOf({ cwd }: Pick<Host, 'cwd'>, flags: ListenFlags): string {
  const { bot, port, route, respond, inbox, insecure, 'forward-to': to, 'secret-file': files } = flags
  const shown = ({ origin, pathname }: URL) => origin + pathname
  const place = (it: string) => (it === '-' ? it : resolve(cwd, it))
  const values = {
    bot,
    port,
    'secret-file': files.map(place),
    'forward-to': to && shown(to),
    route: route.map((it) => `${it.condition}=${shown(it.to)}`),
    respond: respond?.join(','),
    inbox: inbox && place(inbox),
    insecure,
  }
  return ['voucherctl', 'webhook', 'listen', '--open', ...toArguments(values)].map(shellWord).join(' ')
}

/** Responds as --respond says, or forwards to the application after --delay. */
function applicationOf(flags: ListenFlags, { appOf, forwarder }: Tools, signal: AbortSignal): ListenerOptions['app'] {
  const script = flags.respond === undefined ? undefined : scriptedResponses(flags.respond)
  return async (delivery, type) => {
    if (flags.delay !== undefined) await pause(flags.delay, signal)
    const scripted = script?.()
    if (scripted !== undefined) return emptyResponse(scripted === 'timeout' ? null : scripted)
    const to = await appOf(type, delivery.body)
    return to === undefined ? emptyResponse(200) : forwarder.send(to, delivery)
  }
}

function writeReady(path: string, { url, port }: Listener): Failure | undefined {
  const ready = `${JSON.stringify({ url, port, pid: process.pid })}\n`
  return tryToWrite(path, 'Check its folder and permissions.', () =>
    replaceFile(path, ready, { isPrivate: false, flush: false, follow: false }),
  )
}

/** Prints that the listener is ready and what it does, even if stderr is not a terminal. */
function showReady({ output, host }: Context, flags: ListenFlags, url: string, { dir, secretLine }: Tools): void {
  const app = secretLine === undefined ? [] : ['The application needs the secret of this listener:', `  ${secretLine}`]
  if (output.options.format !== 'table') {
    // A script reads stderr only for the error object.
    if (app.length > 0 && host.stderr.isTTY === true) output.notice(app.join('\n'))
    return
  }
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
      ? 'Nothing is forwarded; the response is 200.'
      : `Responds with ${flags.respond.join(', ')}.`
  output.notice(
    [
      `Ready on ${url}. Ctrl-C stops it.`,
      where === '' ? responses : `Forwards ${where}.`,
      ...app,
      `Inbox: ${dir}`,
      'Details of a delivery: `voucherctl webhook inbox show`',
      ...(inboxBytes(dir) > INBOX_BYTES_LARGE
        ? ['warning: the inbox is above 1 GiB; see `voucherctl webhook inbox clear --before 7d`.']
        : []),
      ...(flags.insecure ? ['INSECURE: deliveries that are not verified are shown too.'] : []),
    ].join('\n'),
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
