import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { secrets, temporaryDir } from './cli.js'
import { issuedVoucher, leafCalls, pageOf, redemption, template, templateFile, verification } from './samples.js'

/** Situations that matrix.test.ts runs each command in: server responses, a closed pipe, no arguments. */
export const columns = ['ok', '4xx', '5xx', 'refused', 'broken pipe', 'bare'] as const
export type Column = (typeof columns)[number]

export interface MatrixRow {
  /** Arguments of the command; {url} stands for the server URL, {home} for the working folder. */
  readonly args: string
  /** Response data of the server, except in columns 4xx and 5xx. */
  readonly data?: unknown
  /** The line of a response without the envelope, in place of `data`. */
  readonly document?: unknown
  /** Exit codes per column if not the default: ok 0, 4xx 5, 5xx 9, refused 9, broken pipe 0, bare as ok. */
  readonly exits?: Partial<Record<Column, number>>
  /** The command calls no server, so its exit code in every column is the one in `ok`. */
  readonly local?: true
  /** The command runs until Ctrl-C; the test sends it after the first output, ready.json or second request. */
  readonly endless?: true
  /** The command prints one JSON document per line. */
  readonly stream?: true
  /** The command prints its result on stdout even if it exits with another code than 0. */
  readonly verdict?: true
  /** Content of the files to create in the working folder, by path. */
  readonly files?: Readonly<Record<string, string>>
  readonly stdin?: string
}

const body = '{"update_id":1,"type":"ping","created_at":"2026-11-21T10:00:00.000Z","ping":{}}'
const signed = '--body-file body.json --secret-file secret.txt'
const files = { 'body.json': body, 'secret.txt': 'whsec_0123456789abcdef0123456789abcdef', 'headers.json': '{}' }
const profile = { '.config/voucherctl/config.json': '{"current":"default","profiles":{"default":{},"shop":{}}}' }

const logEntry = {
  ...{ time: '2026-11-21T10:00:00.000Z', request_id: 'req_1', endpoint: 'vouchers.verify', method: 'POST' },
  ...{ path: '/verify', status: 200, code: null, application_id: null, voucher_id: null },
  ...{ replayed: false, duration_ms: 1.25 },
}

/** Exit codes of a command that encrypts its requests, on a server without the encrypted transport. */
const unsealed = { ok: 10, '4xx': 10, 'broken pipe': 10 }

/** Commands that send no or several API requests; samples.ts has those that send one. */
const others: Readonly<Record<string, MatrixRow>> = {
  api: { args: 'GET /open-platform/vouchers/templates', data: pageOf(template), exits: { bare: 3 } },
  'api routes': { args: '', local: true },
  quickstart: { args: '', local: true },
  // Without a base URL, the server check of doctor fails.
  'mcp serve': { args: '', local: true },
  'mcp install': { args: 'claude', local: true, exits: { bare: 3 } },
  'mcp tools': { args: '', local: true },
  doctor: { args: '', local: true, verdict: true, exits: { ok: 1 } },
  login: { args: '--with-token -', stdin: secrets.VOUCHERCTL_TOKEN, data: pageOf(template), exits: { bare: 3 } },
  logout: { args: '', local: true },
  whoami: { args: '', data: pageOf() },
  'profiles list': { args: '', local: true },
  'profiles use': { args: 'shop', files: profile, local: true, exits: { bare: 3 } },
  'profiles show': { args: '', local: true },
  'profiles set': { args: 'shop --timeout 20s', local: true },
  'profiles remove': { args: 'shop --yes', files: profile, local: true, exits: { bare: 3 } },
  'server start': { args: '--memory --port 0 --log-level silent', local: true, endless: true },
  'server env': { args: '', local: true },
  // Exits 1 because no server runs.
  'server list': { args: '', local: true },
  'server status': { args: '', local: true, verdict: true, exits: { ok: 1 } },
  'server stop': { args: '', local: true },
  'server logs': { args: '', document: logEntry, stream: true },
  'platform activity': { args: '', document: { seq: 1, kind: 'omitted', count: 2 }, stream: true },
  'server openapi': { args: '--html {home}/reference.html', local: true },
  // Exits 2 because no database URL is given.
  'server migrate': { args: '', local: true, exits: { ok: 2 } },
  // Exits 5 because the data folder has no database.
  'server export': { args: '--out {home}/export.ndjson', local: true, exits: { ok: 5 } },
  'server import': {
    args: '{home}/export.ndjson',
    files: { 'export.ndjson': 'no export\n' },
    local: true,
    exits: { ok: 2, bare: 3 },
  },
  evidence: { args: 'lists/1', local: true },
  explain: { args: 'VOUCHER_EXPIRED', local: true, exits: { bare: 3 } },
  commands: { args: '', local: true },
  'completion bash': { args: '', local: true },
  'completion zsh': { args: '', local: true },
  'completion fish': { args: '', local: true },
  'completion powershell': { args: '', local: true },
  'completion install': { args: '--shell zsh', local: true, exits: { bare: 3 } },
  'completion uninstall': { args: '--shell zsh', local: true, exits: { bare: 3 } },
  'secure bootstrap': { args: '', exits: unsealed },
  'secure session': { args: '', exits: unsealed },
  'secure call': { args: 'GET /api/v1/open-platform/vouchers/templates', exits: { ...unsealed, bare: 3 } },
  'secure check': { args: '', verdict: true, exits: unsealed },
  'secure pin': { args: '', exits: unsealed },
  'scenario run': {
    args: '{home}/one.yaml',
    files: { 'one.yaml': 'name: one\nsteps:\n  - call: GET /open-platform/vouchers/templates\n' },
    data: pageOf(template),
    verdict: true,
    exits: { '4xx': 1, '5xx': 1, refused: 1, bare: 3 },
  },
  // The responses follow no rule, so that every probe differs.
  conform: {
    args: '--only lists --max-wait 0s',
    verdict: true,
    exits: { ok: 12, '4xx': 12, 'broken pipe': 12 },
  },
  // Exits 2 because the program makes no call.
  prove: { args: 'true', local: true, exits: { ok: 2, bare: 3 } },
  // Exits 9 because the response has not the external id of the call.
  load: { args: '--template tpl_01 --duration 10ms', data: issuedVoucher, exits: { ok: 9, 'broken pipe': 9, bare: 3 } },
  // Exits 2 because nothing was recorded.
  'scenario record': { args: '--out {home}/session.yaml --from activity', exits: { ok: 9, bare: 3 } },
  'scenario init': { args: '{home}/new.yaml', local: true },
  'templates get': { args: 'tpl_01', data: pageOf(template), exits: { bare: 3 } },
  'templates apply': {
    args: '-f templates.yaml',
    files: { 'templates.yaml': templateFile },
    data: pageOf({ ...template, status: 'active' }),
    exits: { bare: 3 },
  },
  'templates diff': {
    args: '-f templates.yaml',
    files: { 'templates.yaml': templateFile },
    data: pageOf({ ...template, status: 'active' }),
    exits: { bare: 3 },
  },
  'templates init': { args: '{home}/new.yaml', local: true },
  'vouchers issue-many': {
    args: '{home}/rows.csv --template tpl_01 --out {home}/out.csv',
    files: { 'rows.csv': 'external_issue_id,recipient_user_id\norder-1,user-1\n' },
    data: issuedVoucher,
    exits: { bare: 3 },
  },
  'vouchers verify-many': {
    args: '{home}/codes.csv --out {home}/out.csv',
    files: { 'codes.csv': 'qr_token\nVQ1-1\n' },
    data: verification,
    exits: { bare: 3 },
  },
  'vouchers redeem-many': {
    args: '{home}/codes.csv --out {home}/out.csv',
    files: { 'codes.csv': 'qr_token\nVQ1-1\n' },
    data: redemption,
    exits: { bare: 3 },
  },
  'vouchers reverse-many': {
    args: '{home}/redeemed.csv --out {home}/out.csv',
    files: { 'redeemed.csv': `redemption_id\n${redemption.id}\n` },
    data: { ...redemption, status: 'reversed' },
    exits: { bare: 3 },
  },
  'vouchers sheet': {
    args: '{home}/codes.csv --out {home}/sheet.html',
    files: { 'codes.csv': 'qr_token\nVQ1-1\n' },
    local: true,
    exits: { bare: 3 },
  },
  'webhook sign': { args: signed, files, local: true, exits: { bare: 3 } },
  // stdout has a line for each delivery, even if the receiver responds with an error.
  'webhook trigger': {
    args: 'ping --url {url}/hook --secret-file secret.txt',
    files,
    stream: true,
    exits: { '4xx': 8, bare: 3 },
  },
  'webhook verify': {
    args: `${signed} --headers-file headers.json`,
    files,
    local: true,
    verdict: true,
    exits: { ok: 10, bare: 3 },
  },
  // The server lends no webhook, so that the updates of the bot are polled.
  'webhook listen': {
    args: '--bot bot_1 --forward-to {url}/hook --ready-file {home}/ready.json',
    data: { items: [] },
    endless: true,
    stream: true,
  },
  'webhook inbox list': { args: '', local: true },
  // Exits 5 because the inbox is empty.
  'webhook inbox show': { args: '1-1', local: true, exits: { ok: 5, bare: 3 } },
  'webhook inbox clear': { args: '--yes', local: true, exits: { bare: 3 } },
  'webhook replay': { args: '--last', local: true, stream: true, exits: { ok: 5, bare: 2 } },
}

export const matrix: Readonly<Record<string, MatrixRow>> = {
  ...Object.fromEntries(
    Object.entries(leafCalls).map(([path, { args, data, bare }]): [string, MatrixRow] => [
      path,
      { args, data, exits: bare === undefined ? {} : { bare: 3 } },
    ]),
  ),
  ...others,
}

/** The environment in which every row has its credentials. */
export const rowEnvironment = { ...secrets, VOUCHERCTL_WEBHOOK_SECRET: files['secret.txt'] }

/** A new working folder with the files of a row. */
export function homeOf({ files = {} }: MatrixRow): string {
  const home = temporaryDir()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true, mode: 0o700 })
    writeFileSync(join(home, name), content, { mode: 0o600 })
  }
  return home
}

export const howToAdd =
  "Every command needs a row: a command that sends one API request in leafCalls of test/support/cli/samples.ts, any other command in others of test/support/cli/matrix.ts, such as 'webhook sign': { args: '--body-file body.json' }."
