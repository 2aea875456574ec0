import { secrets } from './cli.js'
import { issuedVoucher, leafCalls, pageOf, template } from './cli-samples.js'

/** What happens to a command beside what it was asked: the columns of the matrix. */
export const columns = ['ok', '4xx', '5xx', 'refused', 'broken pipe', 'bare'] as const
export type Column = (typeof columns)[number]

export interface MatrixRow {
  /** What follows the command; {url} is where the server listens, {home} the working folder. */
  readonly args: string
  /** What the server answers in column ok. */
  readonly data?: unknown
  /** Exit codes other than the table's: 0, 5 (404), 9 (503), 9, 0; bare: what the command does without any argument. */
  readonly exits?: Partial<Record<Column, number>>
  /** A command that asks no server: every column ends as the first. */
  readonly local?: true
  /** Goes on until Ctrl-C, which comes once it has shown something, written {home}/ready.json or sent a second request. */
  readonly endless?: true
  /** One document a line. */
  readonly stream?: true
  /** The result is what it found, printed beside an exit code that is not 0. */
  readonly verdict?: true
  /** Files of the working folder. */
  readonly files?: Readonly<Record<string, string>>
  readonly stdin?: string
}

const body = '{"update_id":1,"type":"ping","created_at":"2026-11-21T10:00:00.000Z","ping":{}}'
const signed = '--body-file body.json --secret-file secret.txt'
const files = { 'body.json': body, 'secret.txt': 'whsec_0123456789abcdef0123456789abcdef', 'headers.json': '{}' }
const profile = { '.config/voucherctl/config.json': '{"current":"default","profiles":{"default":{},"shop":{}}}' }

const project = { 'voucherctl.json': '{"base_url":"https://vouchers.example"}' }

/** Of a server that answers the encrypted transport with something else. */
const unsealed = { ok: 10, '4xx': 10, 'broken pipe': 10 }

/** Every command that does more or less than one call. Those of one call are in cli-samples.ts. */
const others: Readonly<Record<string, MatrixRow>> = {
  api: { args: 'GET /open-platform/vouchers/templates', data: pageOf(template), exits: { bare: 3 } },
  'api routes': { args: '', local: true },
  quickstart: { args: '', local: true },
  // The server's part of it is one of its checks.
  doctor: { args: '', local: true, verdict: true, exits: { ok: 1 } },
  login: { args: '--with-token -', stdin: secrets.VOUCHERCTL_TOKEN, data: pageOf(template), exits: { bare: 3 } },
  logout: { args: '', local: true },
  whoami: { args: '', data: pageOf() },
  'profiles list': { args: '', local: true },
  'profiles use': { args: 'shop', files: profile, local: true, exits: { bare: 3 } },
  'profiles show': { args: '', local: true },
  'profiles set': { args: 'shop --timeout 20s', local: true },
  'profiles remove': { args: 'shop --yes', files: profile, local: true, exits: { bare: 3 } },
  'project show': { args: '', local: true },
  'project allow': { args: '', files: project, local: true },
  'project deny': { args: '', files: project, local: true },
  'server start': { args: '--memory --port 0 --log-level silent', local: true, endless: true },
  // No server runs.
  'server status': { args: '', local: true, verdict: true, exits: { ok: 1 } },
  'server stop': { args: '', local: true },
  'server logs': { args: '', stream: true },
  'server openapi': { args: '', local: true },
  // No database is named.
  'server migrate': { args: '', local: true, exits: { ok: 2 } },
  // No server has been started on the data folder.
  'server export': { args: '--out {home}/export.ndjson', local: true, exits: { ok: 5 } },
  'server import': {
    args: '{home}/export.ndjson',
    files: { 'export.ndjson': 'no export\n' },
    local: true,
    exits: { ok: 2, bare: 3 },
  },
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
  'vouchers issue-many': {
    args: '{home}/rows.csv --template tpl_01 --out {home}/out.csv',
    files: { 'rows.csv': 'external_issue_id,recipient_user_id\norder-1,user-1\n' },
    data: issuedVoucher,
    exits: { bare: 3 },
  },
  'webhook bridge': {
    args: '--forward-to {url}/hook',
    data: { items: [] },
    endless: true,
    stream: true,
    exits: { bare: 3 },
  },
  'webhook sign': { args: signed, files, local: true, exits: { bare: 3 } },
  // What was sent is shown also where the receiver was wrong.
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
  'webhook listen': { args: '--port 0 --ready-file {home}/ready.json', local: true, endless: true, stream: true },
  'webhook inbox list': { args: '', local: true },
  // Nothing was recorded.
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

export const howToAdd =
  "Every command has a row: one of one call in leafCalls of test/support/cli-samples.ts, any other in others of test/support/cli-matrix.ts, such as 'webhook sign': { args: '--body-file body.json' }."
