import { isIP } from 'node:net'
import { isLoopbackHost } from '../../../contract/loopback.js'
import { defaultDataDir } from '../../../files/data-dir.js'
import { codeOf } from '../../../files/error-code.js'
import { isCanonicalOrigin } from '../../../secure/origin.js'
import type { RateLimit, RateLimitName, ServerOptions } from '../../../server/options.js'
import type { Context } from '../../command/context.js'
import type { Group } from '../../command/leaf.js'
import { leaf } from '../../command/leaf.js'
import { prepareDataFolder, refuseOpenKeyFile } from '../../config/data-folder.js'
import type { Failure, LocalCode } from '../../failure.js'
import { fail, isLocalCode, usage } from '../../failure.js'
import { defined } from '../../flags/defined.js'
import type { Flag, Read, ValuesOf } from '../../flags/flags.js'
import { choice, integer, one, text, toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { status, stop } from './control.js'
import { databaseUrlFlag, readDatabaseUrl } from './database-url.js'
import { exportStore } from './export.js'
import { dataFlag, dataOption, serverFolder } from './folder.js'
import { importStore } from './import.js'
import { serverKeys } from './keys.js'
import { logs } from './logs.js'
import { migrate } from './migrate.js'
import { openapi } from './openapi.js'
import { trustedProxyFlag } from './trusted-proxy-flag.js'

const limitNames: Readonly<Record<RateLimitName, true>> = {
  issue: true,
  verify: true,
  redeem: true,
  reverse: true,
  reads: true,
  template_writes: true,
  bot_issue: true,
  bot_calls: true,
  console: true,
  secure_session: true,
  credential_failures: true,
  auth_failures: true,
}

type RateLimits = NonNullable<ServerOptions['rateLimits']>

/** `off`, or `NAME=CALLS/SECONDS` any number of times. */
function readLimits(texts: readonly string[]): Read<RateLimits | undefined> {
  if (texts.length === 0) return { ok: true, value: undefined }
  if (texts.includes('off')) {
    return texts.length === 1 ? { ok: true, value: 'off' } : { ok: false, message: 'is either off or a list of limits' }
  }
  const limits: Partial<Record<RateLimitName, RateLimit>> = {}
  for (const it of texts) {
    const [, name = '', calls = '', seconds = ''] = /^([a-z_]+)=(\d{1,9})\/(\d{1,6})$/.exec(it) ?? []
    if (!Object.hasOwn(limitNames, name) || Number(calls) < 1 || Number(seconds) < 1) {
      return {
        ok: false,
        message: `must be off or NAME=CALLS/SECONDS with NAME one of ${Object.keys(limitNames).join(', ')}`,
      }
    }
    limits[name as RateLimitName] = { calls: Number(calls), seconds: Number(seconds) }
  }
  return { ok: true, value: limits }
}

const rateLimit: Flag<RateLimits | undefined> = {
  value: 'off|NAME=N/SECONDS',
  summary: 'No rate limits, or another one, such as issue=5/60',
  repeatable: true,
  read: readLimits,
}

/** Ports, separated by commas or one a flag. */
const loopbackPorts: Flag<readonly number[]> = {
  value: 'PORT,...',
  summary: 'Let webhooks name these ports of this machine, with http too, for local work',
  repeatable: true,
  read: (texts) => {
    const ports = texts.flatMap((it) => it.split(','))
    const valid = ports.every((it) => /^[1-9]\d{0,4}$/.test(it) && Number(it) <= 65_535)
    return valid ? { ok: true, value: ports.map(Number) } : { ok: false, message: 'must be ports from 1 to 65535' }
  },
}

const egressIps: Flag<readonly string[]> = {
  value: 'IP',
  summary: 'An address that deliveries come from, as getWebhookInfo reports it',
  repeatable: true,
  read: (texts) =>
    texts.every((it) => isIP(it) !== 0)
      ? { ok: true, value: texts }
      : { ok: false, message: 'must be an IPv4 or IPv6 address' },
}

const allowedOrigins: Flag<readonly string[]> = {
  value: 'ORIGIN',
  summary: 'An origin that may open encrypted sessions, or *; default any',
  repeatable: true,
  read: (texts) =>
    texts.every((it) => it === '*' || isCanonicalOrigin(it))
      ? { ok: true, value: texts }
      : { ok: false, message: 'must be * or a full origin such as https://shop.example' },
}

const startFlags = {
  port: integer('N', 'Port, default 8420; 0 takes any free one', 0, 65_535),
  host: text('HOST', 'Address to listen on, default 127.0.0.1'),
  memory: toggle('Keep nothing after the end'),
  ...dataFlag,
  ...databaseUrlFlag,
  detach: toggle('Run in the background; its log goes to server.log of the data folder'),
  'auto-approve': toggle('Approve what is submitted at once'),
  'test-clock': toggle('Run on a clock that `platform clock` moves'),
  'rate-limit': rateLimit,
  'trusted-proxy': trustedProxyFlag,
  'jwks-url': one('URL', "Verify account JWTs against this key set instead of the server's own key", (it) =>
    /^https?:/i.test(it) && URL.canParse(it)
      ? { ok: true, value: it }
      : { ok: false, message: 'must be an http(s) URL' },
  ),
  'key-file': text('FILE', 'Credential keys from this path instead of the data folder'),
  'no-secure': toggle('Switch the encrypted transport off'),
  'require-secure': toggle('Refuse voucher calls in plain text'),
  'allowed-origin': allowedOrigins,
  brand: one('NAME', 'Of the encrypted transport, default platform', (it) =>
    /^[a-z0-9._-]{1,64}$/i.test(it)
      ? { ok: true, value: it }
      : { ok: false, message: 'must be 1 to 64 letters, digits, dots, _ and -' },
  ),
  'dev-webhook-loopback': loopbackPorts,
  'egress-ip': egressIps,
  operator: choice(['on', 'off'], 'The platform commands; default on when bound to loopback'),
  'log-level': choice(['trace', 'debug', 'info', 'warn', 'error', 'silent'], 'Default info'),
}
type StartFlags = ValuesOf<typeof startFlags>

interface Ready {
  readonly base_url: string
  readonly pid: number
  readonly data_dir: string
  readonly operator_key_file: string | null
  readonly store: string
}

const start = leaf({
  name: 'start',
  summary: 'Start the reference server',
  notes: [
    'It runs in the foreground until Ctrl-C or SIGTERM, finishes what is in flight, and exits with 130 or 143, or with 129 when its terminal is closed. Its log goes to stderr.',
    'With --json it prints one line when it accepts connections.',
    'With --database-url any number of servers share one PostgreSQL, and the data folder holds keys alone: give all of them the same --key-file. A password comes from PGPASSWORD, ~/.pgpass or VOUCHERCTL_DATABASE_URL, which may hold the whole URL.',
  ],
  flags: startFlags,
  examples: [
    { command: 'voucherctl server start --detach', comment: 'In the background; commands that follow find it' },
    { command: 'voucherctl server start --memory --port 0 --json', comment: 'For a test, with nothing left behind' },
  ],
  changes: true,
  run: async (context, { flags }): Promise<Outcome<Ready>> => {
    if (flags.memory && flags.data !== undefined) return usage('--memory keeps nothing; it goes without --data.')
    const database = flags.memory
      ? readDatabaseUrl({ env: {} }, flags['database-url'])
      : readDatabaseUrl(context.host, flags['database-url'])
    if (!database.ok) return database
    if (database.value !== undefined && flags.memory)
      return usage('--memory keeps nothing; it goes without --database-url.')
    if (database.value !== undefined && flags['test-clock'])
      return usage('--test-clock moves the time of one process; with --database-url others would have another.')
    if (flags['no-secure'] && flags['require-secure'])
      return usage('--no-secure and --require-secure exclude each other.')
    if (flags['key-file'] === '-') return usage('--key-file takes a path; it does not read standard input.')
    if (flags['dev-webhook-loopback'].length > 0 && flags.host !== undefined) {
      if (!isLoopbackHost(flags.host)) return usage('--dev-webhook-loopback goes with a --host that is loopback only.')
    }
    const inMemory = { ok: true as const, dir: defaultDataDir(context.host) }
    const place = flags.memory ? inMemory : serverFolder(context, flags.data, true)
    if (!place.ok) return place
    const { dir } = place
    if (context.dryRun) {
      const where = database.value === undefined ? `on ${dir}` : `on PostgreSQL with the keys of ${dir}`
      return context.plan(`start a server ${flags.memory ? 'in memory' : where}`)
    }
    const openKeys = flags['key-file'] === undefined ? undefined : refuseOpenKeyFile(flags['key-file'])
    if (openKeys !== undefined) return openKeys
    const folder = flags.memory
      ? { ok: true as const, warnings: [] }
      : prepareDataFolder(dir, dir !== defaultDataDir(context.host))
    if (!folder.ok) return folder
    const started = await (flags.detach ? runDetached : runHere)(context, flags, dir, folder.warnings)
    return started.ok || folder.warnings.length === 0 || 'plan' in started
      ? started
      : { ...started, details: { ...started.details, warnings: folder.warnings } }
  },
})

/** After the ready line, since a failure leaves its error object alone on stderr. */
const warn = ({ output }: Context, warnings: readonly string[]) => {
  for (const it of warnings) output.notice(`warning: ${it}`)
}

async function runDetached(
  context: Context,
  flags: StartFlags,
  dir: string,
  warnings: readonly string[],
): Promise<Outcome<Ready>> {
  const { startDetached } = await import('./detach.js')
  const started = await startDetached(context.host, flags, dir)
  if (!started.ok) return started
  const { output } = context
  if (output.options.format === 'json') await output.printLine(started.data)
  else {
    await output.print(started.data, {
      headline: (it) => `The server runs on ${it.base_url} (process ${it.pid}).`,
      members: ['data_dir', 'log_file'],
      next: (it) => `Next: voucherctl login --local --account NAME${dataOption(context.host, it.data_dir)}`,
    })
  }
  warn(context, warnings)
  return { ok: true, printed: true }
}

async function runHere(
  context: Context,
  flags: StartFlags,
  dir: string,
  warnings: readonly string[],
): Promise<Outcome<Ready>> {
  const { startServer } = await import('../../../server/listen.js')
  const { output, host } = context
  let server: Awaited<ReturnType<typeof startServer>>
  try {
    const database = flags.memory ? undefined : readDatabaseUrl(host, flags['database-url'])
    const databaseUrl = database?.ok ? database.value : undefined
    const place = flags.memory ? { memory: true } : { dataDir: dir, ...defined({ databaseUrl }) }
    server = await startServer({ ...optionsOf(flags), ...place })
  } catch (error) {
    return startFailure(error, flags)
  }
  const { baseUrl, pid, dataDir, operatorKeyFile, store } = server
  const ready: Ready = { base_url: baseUrl, pid, data_dir: dataDir, operator_key_file: operatorKeyFile, store }
  const isMachine = output.options.format === 'json'
  if (isMachine) await output.printLine(ready)
  else {
    await output.print(ready, {
      headline: () => `The server runs on ${baseUrl}. Ctrl-C stops it.`,
      members: ['store', 'data_dir', 'operator_key_file'],
    })
  }
  warn(context, warnings)
  if (!host.signal.aborted)
    await new Promise((resolve) => host.signal.addEventListener('abort', resolve, { once: true }))
  await server.close()
  return { ok: true, printed: true }
}

function optionsOf(flags: StartFlags): ServerOptions {
  return {
    ...defined({
      port: flags.port,
      host: flags.host,
      keyFile: flags['key-file'],
      rateLimits: flags['rate-limit'],
      jwksUrl: flags['jwks-url'],
      logLevel: flags['log-level'],
      brand: flags.brand,
      allowedOrigins: flags['allowed-origin'].length === 0 ? undefined : flags['allowed-origin'],
      operator: flags.operator === undefined ? undefined : flags.operator === 'on',
    }),
    autoApprove: flags['auto-approve'],
    secure: !flags['no-secure'],
    requireSecure: flags['require-secure'],
    testClock: flags['test-clock'],
    webhookLoopbackPorts: flags['dev-webhook-loopback'],
    egressIps: flags['egress-ip'],
    trustedProxies: flags['trusted-proxy'],
  }
}

/** The server throws errors that carry a code; anything else is a bug. */
function startFailure(error: unknown, { host = '127.0.0.1', port = 8420 }: StartFlags): Failure {
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : ''
  const known: Partial<Record<string, readonly [message: string, hint: string]>> = {
    EADDRINUSE: [
      `Port ${port} on ${host} is in use.`,
      'Choose another with --port N, or any free one with --port 0; `voucherctl server status` shows a server of yours.',
    ],
    EACCES: [
      `Port ${port} on ${host} or the data folder is not open to you.`,
      'Choose a port from 1024 on, and a data folder of your own with --data.',
    ],
    EADDRNOTAVAIL: [`${host} is not an address of this machine.`, 'Choose another with --host.'],
    ENOSPC: ['The disk of the data folder is full.', 'Free some space, or choose another folder with --data.'],
    ENOTFOUND: [`${host} is not known here.`, 'Choose an address of this machine with --host.'],
  }
  const [text, hint] = known[code] ?? [message, null]
  if (!isLocalCode(code) && known[code] === undefined) throw error
  return fail(isLocalCode(code) ? (code as LocalCode) : 'SERVER_START_FAILED', text, hint)
}

export const server: Group = {
  name: 'server',
  alias: 'servers',
  summary: 'The bundled reference server',
  commands: [start, status, stop, logs, serverKeys, openapi, migrate, exportStore, importStore],
}
