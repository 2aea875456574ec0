import { defaultDataDir, serverRegistryDir } from '../../../files/data-dir.js'
import { codeOf } from '../../../files/error-code.js'
import { portHolder } from '../../../files/port-holder.js'
import type { ServerOptions } from '../../../server/options.js'
import { defined } from '../../../values/json.js'
import { isLoopbackHost } from '../../../values/loopback.js'
import { shellWord } from '../../../values/shell-word.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { warnOfOther } from '../../command/local-advice.js'
import { prepareDataFolder, refuseOpenKeyFile } from '../../config/data-folder.js'
import { findRunningServers, localLogin, placeOf } from '../../config/local-server.js'
import { failureOfServer } from '../../failures/codes.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import { isLocalCode } from '../../failures/local-failures.js'
import { isColoured, loadPaint } from '../../output/colour.js'
import { logLine, readEntry } from '../../output/log-line.js'
import type { Outcome, View } from '../../output/outcome.js'
import { readSeedFile } from '../../server/seed-file.js'
import { readDatabaseUrl } from './database-url.js'
import type { ReadyLine } from './detach.js'
import { serverFolder } from './folder.js'
import { isWatching } from './log-filter.js'
import { LOG_FILE, rotating } from './log-rotation.js'
import { optionsOf, type StartFlags, startCommandOf, startFlags } from './start-flags.js'

export const start = leaf({
  name: 'start',
  summary: 'Start the reference server',
  notes: [
    'It runs until Ctrl-C or SIGTERM and finishes what is in flight. Its log on stderr is JSON without a terminal. --json prints one line at its start. `voucherctl help reference-server` describes seeds.',
  ],
  flags: startFlags,
  examples: [
    { command: 'voucherctl server start --detach', comment: 'In the background; later commands find it' },
    { command: 'voucherctl server start --memory --port 0 --json', comment: 'For a test; leaves nothing behind' },
    'voucherctl server start --seed seed.yaml --detach',
  ],
  changes: true,
  run: async (context, { flags }): Promise<Outcome<ReadyLine>> => {
    const { memory } = flags
    const database = readDatabaseUrl(memory ? { env: {} } : context.host, flags['database-url'])
    if (!database.ok) return database
    const { value: databaseUrl } = database
    const refused = refuseFlags(flags)
    if (refused !== undefined) return refused
    const defaultDir = defaultDataDir(context.host)
    const place = memory ? { ok: true as const, dir: defaultDir } : serverFolder(context, flags.data, true)
    if (!place.ok) return place
    const { dir } = place
    const seed = flags.seed === undefined ? undefined : await readSeedFile(context.host, flags.seed)
    if (seed?.ok === false) return seed
    if (context.dryRun) return context.plan(`start a server ${describeStart(flags, dir, databaseUrl)}`)
    const { 'key-file': keyFile } = flags
    const openKeys = keyFile === undefined ? undefined : refuseOpenKeyFile(keyFile)
    if (openKeys !== undefined) return openKeys
    const folder = memory ? { ok: true as const, warnings: [] } : prepareDataFolder(dir, dir !== defaultDir)
    if (!folder.ok) return folder
    const warnings = [...folder.warnings, ...(memory || flags.data ? [] : warnOfOther(context, dir))]
    const store = memory ? { memory: true } : { dataDir: dir, ...defined({ databaseUrl }) }
    const data = { ...store, ...defined({ seed: seed?.seed }) }
    const started = flags.detach
      ? await runDetached(context, flags, dir, warnings, seed?.text)
      : await runHere(
          context,
          flags,
          { ...data, startCommand: startCommandOf(flags, dir, context.host) },
          warnings,
          seed?.text,
        )
    return started.ok || warnings.length === 0 || 'plan' in started
      ? started
      : { ...started, details: { ...started.details, warnings } }
  },
})

function refuseFlags(flags: StartFlags): Failure | undefined {
  if (flags.watch && (!flags.memory || flags.detach || flags.seed === undefined || flags.seed === '-'))
    return usage(
      '--watch replaces the whole state after each change, so it needs --memory and the file of a --seed, without --detach.',
      'Start it with `voucherctl server start --memory --seed seed.yaml --watch`.',
    )
  if (flags['dev-webhook-loopback'].length > 0 && flags.host !== undefined && !isLoopbackHost(flags.host))
    return usage('--dev-webhook-loopback needs a loopback --host.')
  return undefined
}

function describeStart({ memory, seed }: StartFlags, dir: string, databaseUrl: string | undefined): string {
  const planted = seed === undefined ? '' : ` with the seed of ${seed}`
  if (memory) return `in memory${planted}`
  return `${databaseUrl === undefined ? `on ${dir}` : `on PostgreSQL with the keys of ${dir}`}${planted}`
}

async function runDetached(
  context: Context,
  flags: StartFlags,
  dir: string,
  warnings: readonly string[],
  seed: string | undefined,
): Promise<Outcome<ReadyLine>> {
  const { startDetached } = await import('./detach.js')
  const started = await startDetached(context.host, flags, dir, seed)
  if (!started.ok) return started
  const view: View<ReadyLine> = {
    headline: (it) => `The server runs on ${it.base_url} (process ${it.pid}).${otherPort(context, flags, it)}`,
    members: ['store', 'database', 'data_dir', 'log_file', 'test_clock', 'seed'],
    next: (it) => `Next: ${nextCommand(context, it, flags)}`,
  }
  await announce(context, started.data, view, warnings)
  return { ok: true, printed: true }
}

async function runHere(
  context: Context,
  flags: StartFlags,
  data: Pick<ServerOptions, 'memory' | 'dataDir' | 'databaseUrl' | 'seed' | 'startCommand'>,
  warnings: readonly string[],
  seedText: string | undefined,
): Promise<Outcome<ReadyLine>> {
  const { startServer } = await import('../../../server/listen.js')
  const { host } = context
  let server: Awaited<ReturnType<typeof startServer>>
  try {
    const formatLog = await logFormatOf(context)
    server = await startServer({ ...optionsOf(flags), ...data, registryDir: serverRegistryDir(host), ...formatLog })
  } catch (error) {
    return startFailure(error, flags)
  }
  const { baseUrl, pid, dataDir, operatorKeyFile, store, database, testClock, seed } = server
  const ready: ReadyLine = {
    base_url: baseUrl,
    pid,
    data_dir: dataDir,
    operator_key_file: operatorKeyFile,
    store,
    ...defined({ database, test_clock: testClock, seed }),
  }
  const view: View<ReadyLine> = {
    headline: () => `The server runs on ${baseUrl}. Ctrl-C stops it.${otherPort(context, flags, ready)}`,
    members: ['store', 'database', 'data_dir', 'operator_key_file', 'test_clock', 'seed'],
    next: (it) => `Next, in another shell: ${nextCommand(context, it, flags)}`,
  }
  host.endsWith?.('SIGTERM')
  await announce(context, ready, view, warnings)
  let failure: Failure | undefined
  if (flags.watch) {
    const { watchSeed } = await import('./seed-watch.js')
    failure = await watchSeed(context, server, flags.seed as string, seedText as string)
  } else if (!host.signal.aborted)
    await new Promise((resolve) => host.signal.addEventListener('abort', resolve, { once: true }))
  await server.close()
  return failure ?? { ok: true, printed: true }
}

const DEFAULT_PORT = 8420

/** Says why the server took another port than the default one, and who has that, if the system tells. */
function otherPort({ host, settings }: Context, { port }: StartFlags, { base_url: baseUrl }: ReadyLine): string {
  const hasDefault = (url: string) => new URL(url).port === String(DEFAULT_PORT)
  if (port !== undefined || hasDefault(baseUrl)) return ''
  const ours = findRunningServers(host, settings.config).find((it) => hasDefault(it.base_url))
  const holder = ours === undefined ? portHolder(DEFAULT_PORT) : `the local server of ${ours.data_dir}`
  return ` Port ${DEFAULT_PORT} is in use${holder === undefined ? '' : ` by ${holder}`}; commands find the server on its port.`
}

/** Log format on stderr: lines for people on a terminal, otherwise JSON; always JSON with JSON output. */
async function logFormatOf({ host, globals, output }: Context): Promise<Pick<ServerOptions, 'formatLog'>> {
  const { stderr, env } = host
  const file = env[LOG_FILE]
  if (file !== undefined) return { formatLog: rotating(file) }
  if (stderr.isTTY !== true || output.options.format !== 'table') return {}
  const paint = await loadPaint(isColoured(stderr, env, globals['no-color']))
  const shown = (line: string) => {
    const entry = readEntry(line)
    return isWatching(entry) ? '' : `${logLine(entry, { ...output.times, paint, width: stderr.columns })}\n`
  }
  return { formatLog: shown }
}

function nextCommand(known: Context, ready: ReadyLine, { seed }: StartFlags): string {
  if (seed === undefined || seed === '-') return localLogin(known, ready)
  return `\`voucherctl server env --seed ${shellWord(seed)} --show-secrets${placeOf(known, ready)}\``
}

/** Prints warnings only after the server is ready: on a failed start, stderr must hold only the error object. */
async function announce({ output }: Context, ready: ReadyLine, view: View<ReadyLine>, warnings: readonly string[]) {
  if (output.options.format === 'json') await output.printLine(ready)
  else await output.print(ready, view)
  for (const it of warnings) output.notice(`warning: ${it}`)
}

/** Converts a start error to a failure. A bare system error code gets the port, host or folder that failed. */
function startFailure(error: unknown, { host = '127.0.0.1', port: named }: StartFlags): Failure {
  const port = named ?? DEFAULT_PORT
  const tried = named === undefined ? `Port ${port} and the next ones on ${host} are` : `Port ${port} on ${host} is`
  const code = codeOf(error)
  const known: Partial<Record<string, readonly [message: string, hint: string]>> = {
    EADDRINUSE: [
      `${tried} in use.`,
      'Choose another with --port N, or any free one with --port 0; `voucherctl server list` shows your servers.',
    ],
    EACCES: [
      `Port ${port} on ${host} or the data folder is not accessible to you.`,
      'Choose a port from 1024 on, and a data folder of your own with --data.',
    ],
    EADDRNOTAVAIL: [`${host} is not an address of this machine.`, 'Choose another with --host.'],
    ENOSPC: ['The disk of the data folder is full.', 'Free some space, or choose another folder with --data.'],
    ENOTFOUND: [`The name ${host} is unknown on this machine.`, 'Choose an address of this machine with --host.'],
  }
  if (error instanceof Error && code === 'STORE_NOT_EMPTY') {
    const how = 'Choose an empty folder with --data, or --memory; without --seed the store stays as it is.'
    return fail(code, error.message, how)
  }
  const words = known[code]
  return words === undefined ? failureOfServer(error) : fail(isLocalCode(code) ? code : 'SERVER_START_FAILED', ...words)
}
