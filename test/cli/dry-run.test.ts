import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { leavesOfEntries } from '../../src/cli/command/help.js'
import { entries } from '../../src/cli/program.js'
import { cli, secrets, stub, success, temporaryDir } from '../support/cli/cli.js'
import { leafCalls, qrToken, templateFile } from '../support/cli/samples.js'

/** Arguments of commands with side effects that send no or several API calls; `{home}` is the home folder. */
const others: Readonly<Record<string, string>> = {
  quickstart: '',
  login: '--with-token -',
  logout: '',
  'profiles use': 'shop',
  'profiles set': 'shop --production on',
  'profiles remove': 'shop',
  'server start': '--port 0 --data {home}/data',
  'server stop': '--data {home}/.local/share/voucherctl',
  'server export': '--out {home}/export.ndjson',
  'secure call': 'POST /api/v1/open-platform/vouchers/verify --body {home}/body.json',
  api: 'POST /open-platform/vouchers/verify --input {home}/body.json',
  'vouchers issue-many': '{home}/rows.csv --template tpl_01 --out {home}/out.ndjson',
  'vouchers redeem-many': '{home}/codes.csv --out {home}/out.ndjson',
  'vouchers reverse-many': '{home}/redeemed.csv --out {home}/out.ndjson',
  'vouchers sheet': '{home}/sheet.csv --out {home}/sheet.html',
  'webhook inbox clear': '',
  'webhook trigger': 'ping --secret-file {home}/secret',
  'webhook listen': '--port 0 --secret-file {home}/secret --inbox {home}/inbox',
  'webhook bridge': '--forward-to http://127.0.0.1:9 --secret-file {home}/secret',
  conform: '',
  load: '--template tpl_01',
  'scenario run': '{home}/scenario.yaml',
  'scenario init': '{home}/new.yaml',
  'templates apply': '-f {home}/templates.yaml',
  'templates init': '{home}/new.yaml',
  'completion install': '--shell zsh',
  'completion uninstall': '--shell zsh',
}

/** Commands whose dry run needs more set-up; other test files test them. */
const testedInOtherFiles = ['project allow', 'project deny', 'webhook replay', 'server migrate', 'server import']

const changing = (await leavesOfEntries(entries)).flatMap(([names, leaf]) => (leaf.changes ? [names.join(' ')] : []))

test('the dry-run tests cover every command with side effects', () => {
  const known = [...Object.keys(leafCalls), ...Object.keys(others), ...testedInOtherFiles]
  expect(changing.filter((it) => !known.includes(it))).toEqual([])
})

function homeWithFiles(): string {
  const home = temporaryDir()
  mkdirSync(join(home, '.config/voucherctl'), { recursive: true })
  const config = { current: 'default', profiles: { default: {}, shop: { base_url: 'http://127.0.0.1:9' } } }
  writeFileSync(join(home, '.config/voucherctl/config.json'), JSON.stringify(config), { mode: 0o600 })
  // A dry run must not call this server, which seems to run.
  const data_dir = join(home, '.local/share/voucherctl')
  mkdirSync(data_dir, { recursive: true })
  const server = { pid: process.pid, base_url: 'http://127.0.0.1:9', data_dir, operator_key_file: null }
  writeFileSync(join(data_dir, 'server.json'), JSON.stringify(server))
  writeFileSync(join(home, 'templates.yaml'), templateFile)
  writeFileSync(join(home, 'body.json'), '{"credential":{"type":"redeem_code","value":"M9S3-46Q3-D25V-T4FJ"}}')
  writeFileSync(join(home, 'codes.csv'), 'redeem_code\nM9S3-46Q3-D25V-T4FJ\n')
  writeFileSync(join(home, 'redeemed.csv'), 'redemption_id\nrdm_01\n')
  writeFileSync(join(home, 'rows.csv'), 'external_issue_id,recipient_user_id\norder-1,user-1\n')
  writeFileSync(join(home, 'sheet.csv'), `qr_token\n${qrToken}\n`)
  writeFileSync(join(home, 'secret'), 'a-secret-of-a-webhook\n')
  writeFileSync(join(home, 'scenario.yaml'), 'steps:\n  - name: look\n    call: templates.list\n')
  return home
}

/** Path and content digest of every file below a folder. */
function snapshot(dir: string): Record<string, string> {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort()
  const digest = (path: string) =>
    lstatSync(path).isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'folder'
  return Object.fromEntries(paths.map((it) => [it, digest(join(dir, it))]))
}

const runs = [...new Set([...changing, ...Object.keys(others)])]
  .filter((it) => !testedInOtherFiles.includes(it))
  .map((it) => [it, leafCalls[it]?.args ?? others[it] ?? ''])

test.each(runs)(
  'the command %s --dry-run prints the planned requests, sends nothing and changes no file',
  async (path, args) => {
    const { baseUrl, received } = await stub(() => success({}))
    const home = homeWithFiles()
    const before = snapshot(home)
    const line = `${path} ${args.replaceAll('{home}', home)} --dry-run --no-input --base-url ${baseUrl}`
    const given = { home, env: secrets, stdin: `${secrets.VOUCHERCTL_TOKEN}\n` }
    const { exit, stdout, stderr } = await cli(`${line} --json`, given)
    expect([exit, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({ dry_run: true, requests: expect.any(Array), actions: expect.any(Array) })
    const shown = await cli(line, given)
    expect([shown.exit, shown.stderr]).toEqual([0, ''])
    expect(shown.stdout).toMatch(/^Dry run: nothing was sent and nothing was changed\./)
    expect(snapshot(home)).toEqual(before)
    expect(received).toEqual([])
  },
)
