import process from 'node:process'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { diagnoseSettings } from '../../config/diagnosis.js'
import { dataDirOf, findLocalServer } from '../../config/local-server.js'
import { credentialNames } from '../../host/secrets.js'
import type { Paint } from '../../output/colour.js'
import type { Outcome } from '../../output/outcome.js'
import { plainLine, wrap, wrapMessage } from '../../output/text.js'
import { databaseUrlFlag, readDatabaseUrl } from '../server/database-url.js'
import { checkCredential } from './access.js'
import { bad, bounded, type Check, type Finding, type NamedCheck, skip } from './check.js'
import { checkDatabase } from './database.js'
import * as files from './files.js'
import * as machine from './machine.js'
import { ASK_MS, checkSecure, reachServer } from './server.js'
import { checkTls } from './tls.js'

const LIMIT_MS = 4_500
const kinds = ['jwt', 'token', 'bot', 'operator'] as const

interface Diagnosis {
  readonly ok: boolean
  readonly checks: readonly Check[]
}

export const doctor = leaf({
  name: 'doctor',
  summary: 'Check this machine, the configuration, the server and the credentials',
  notes: [
    'Every check says what it found, and how to put right what is wrong. Exit 1 when one failed; a warning fails nothing. Nothing is changed: to learn the scopes of a token, calls are made without what they require, which the server refuses. All together takes less than 5 s, also when the server hangs.',
  ],
  flags: databaseUrlFlag,
  examples: [
    'voucherctl doctor',
    { command: 'voucherctl doctor --json', comment: '{ ok, checks: [{ name, status, message, fix }] }' },
  ],
  diagnoses: true,
  run: async (context, { flags }): Promise<Outcome<Diagnosis>> => {
    const checks = await diagnose(context, flags['database-url'])
    const data = { ok: checks.every((it) => it.status !== 'fail'), checks }
    const exit = data.ok ? 0 : 1
    const { output } = context
    if (!output.isForPeople) return { ok: true, data, exit }
    const paint = await output.paint()
    const width = output.reportWidth
    output.say([...checks.flatMap((it) => linesOf(it, width, paint)), '', summary(checks, width)].join('\n'))
    return { ok: true, printed: true, exit }
  },
})

async function diagnose(context: Context, databaseUrl: string | undefined): Promise<readonly Check[]> {
  const { host } = context
  const diagnosis = diagnoseSettings(host, context.globals)
  const { settings } = diagnosis
  const dataDir = dataDirOf(host, settings.profile)
  const reached = reachServer(context, diagnosis)
  const { value: baseUrl } = settings.baseUrl
  const asked = async (check: (baseUrl: string | undefined) => Promise<Finding>) => check((await reached).baseUrl)
  const mode = settings.secure.mode.value
  const tls = async () =>
    baseUrl === undefined || diagnosis.values !== undefined || context.dryRun
      ? skip('No server to ask.')
      : checkTls(host, { baseUrl, mode, timeoutMs: ASK_MS })
  const all: NamedCheck[] = [
    ['node', () => machine.checkNode(process.versions.node)],
    ['sqlite', () => machine.checkSqlite(machine.loadSqlite)],
    ['extra certificates', () => machine.checkExtraCa(host.env.NODE_EXTRA_CA_CERTS, process.versions.node)],
    ['folders', () => files.checkFolders(host)],
    ['permissions', () => files.checkPermissions(host)],
    ['profile file', () => files.checkProfileFile(host, diagnosis)],
    ...files.projectFileChecks(settings),
    ['settings', () => files.checkValues(diagnosis)],
    ['data folder', () => files.checkDataFolder(dataDir)],
    ['inbox', () => files.checkInbox(host)],
    ['MCP clients', () => files.checkMcpClients(host)],
    ...databaseChecks(context, databaseUrl),
    ['disk space', () => machine.checkDisk(dataDir, machine.freeBytes)],
    ...portsOf(dataDir).map((it): NamedCheck => [`port ${it.port}`, () => machine.checkPort(it)]),
    ['proxy', () => machine.checkProxy(host, diagnosis.values === undefined ? baseUrl : undefined)],
    ['base URL', () => reached.then((it) => it.base)],
    ['server', () => reached.then((it) => it.server)],
    ['TLS', tls],
    ['clock', () => reached.then((it) => it.clock)],
    ['encrypted transport', () => asked((it) => checkSecure(context, it))],
    ...kinds.map(
      (kind): NamedCheck => [credentialNames[kind], () => asked((it) => checkCredential(context, kind, it))],
    ),
  ]
  const onBug = (error: unknown) => void (context.globals.debug && context.output.trace(String((error as Error).stack)))
  return Promise.all(all.map((it) => bounded(it, LIMIT_MS, onBug)))
}

function databaseChecks({ host, dryRun }: Context, given: string | undefined): readonly NamedCheck[] {
  const name = 'database'
  const read = readDatabaseUrl(host, given)
  if (!read.ok) return [[name, () => bad(read.message, read.hint ?? 'Correct the URL.')]]
  const { value: url } = read
  if (url === undefined) return []
  return [[name, () => (dryRun ? skip('Not asked with --dry-run.') : checkDatabase(url))]]
}

const SERVER_PORT = 8420
const LISTENER_PORT = 8787

function portsOf(dir: string): readonly machine.Port[] {
  return [
    {
      name: '`voucherctl server start`',
      port: SERVER_PORT,
      holder: () => {
        const server = findLocalServer(dir)
        const isOurs = server !== undefined && new URL(server.base_url).port === String(SERVER_PORT)
        return isOurs ? `the local server of ${server.data_dir}` : undefined
      },
      fix: 'Choose another port: `voucherctl server start --port 0` takes any free one.',
    },
    {
      name: '`voucherctl webhook listen`',
      port: LISTENER_PORT,
      fix: 'If it is not your listener: `voucherctl webhook listen --port 0` takes any free port.',
    },
  ]
}

const NAME_WIDTH = 20
const INDENT = NAME_WIDTH + 2

function linesOf({ name, status, message, fix }: Check, width: number, paint: Paint): string[] {
  const marks = { ok: paint.done('✓'), warn: paint.status('!'), fail: paint.error('✗'), skip: paint.quiet('-') }
  const [first = '', ...rest] = wrapMessage(plainLine(message), width - INDENT).split('\n')
  const head = `${marks[status]} ${name.padEnd(NAME_WIDTH)}`
  const lines = [
    `${head}${status === 'skip' ? paint.quiet(first) : first}`,
    ...rest.map((it) => ' '.repeat(INDENT) + it),
  ]
  const fixes = fix === null ? [] : wrapMessage(plainLine(fix), width - INDENT - 2).split('\n')
  return [...lines, ...fixes.map((it, i) => `${' '.repeat(INDENT)}${paint.hint(`${i === 0 ? '→ ' : '  '}${it}`)}`)]
}

/** Repeats the failed checks at the end, because the first ones may have scrolled off the screen. */
function summary(checks: readonly Check[], width: number): string {
  const named = (status: Check['status'], word: string) => {
    const names = checks.filter((it) => it.status === status).map((it) => it.name)
    return names.length === 0 ? [] : [`${names.length} ${word} (${names.join(', ')})`]
  }
  const count = (status: Check['status']) => checks.filter((it) => it.status === status).length
  const parts = [...named('fail', 'failed'), ...named('warn', 'to look at'), `${count('ok')} in order`]
  const skipped = count('skip') === 0 ? [] : [`${count('skip')} skipped`]
  return wrap(`${checks.length} checks: ${[...parts, ...skipped].join(', ')}.`, width).join('\n')
}
