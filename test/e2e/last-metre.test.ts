import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasTerminal, onTerminal } from '../support/cli/terminal.js'
import { environment, folder, home, node, voucherctl } from './installed.js'

let baseUrl: string

beforeAll(async () => {
  const started = await voucherctl('server', 'start', '--detach', '--port', '0', '--auto-approve', '--json')
  baseUrl = (JSON.parse(started.stdout) as { base_url: string }).base_url
})
afterAll(async () => {
  await voucherctl('server', 'stop')
})

describe('suggested commands', () => {
  test('the hint of a refusal names the profile and the server of the command line', async () => {
    const { exitCode, stderr } = await voucherctl('apps', 'list', '-p', 'shop', '--base-url', baseUrl)
    expect(exitCode).toBe(5)
    expect(stderr).toMatch(/`voucherctl login --profile shop --base-url http:\/\/127\.0\.0\.1:\d+`/)
  })
})

describe('confirmations', () => {
  test.each([
    'profiles remove e2e-till',
    'tokens revoke tok_1 --app app_1',
    'bots regenerate-token bot_1',
    'webhook delete bot_1',
    'apps unlink-bot app_1 --bot bot_1',
    'webhook inbox clear',
  ])('%s without a terminal exits 3 and prints the same command with --yes', async (line) => {
    if (line.startsWith('profiles')) await voucherctl('profiles', 'set', 'e2e-till', '--base-url', baseUrl)
    const { exitCode, stderr } = await voucherctl(...line.split(' '))
    expect([exitCode, stderr]).toEqual([3, expect.stringMatching(/To go on: `voucherctl .*--yes`/)])
  })

  test('tokens create --save replaces a stored token only with --yes', async () => {
    const run = (line: string) => voucherctl(...line.split(' '), '-p', 'e2e-saved', '--base-url', baseUrl)
    await run('login --local --account e2e-saved')
    const { id } = JSON.parse((await run('apps create --name Shop --json')).stdout) as { id: string }
    const create = `tokens create --app ${id} --scope vouchers:read --save`
    expect((await run(create)).exitCode).toBe(0)
    expect((await run(create)).exitCode).toBe(3)
    expect((await run(`${create} --yes`)).exitCode).toBe(0)
  })
})

describe.runIf(hasTerminal)('a terminal', () => {
  test('errors break at spaces in a terminal of 80 columns', async () => {
    const program = join('node_modules', 'voucherctl', 'bin', 'voucherctl.js')
    const command = `${node} ${program} apps list --base-url ${baseUrl}`
    const terminal = onTerminal(command, folder, { ...environment, VOUCHERCTL_JWT: 'no-jwt', NO_COLOR: '1' })
    expect(await terminal.exit).toBe(4)
    const lines = terminal.shown().split(/\r?\n/)
    // A suggested command stays on one line, so that it can be copied.
    expect(lines.filter((it) => it.length > 80 && !it.trim().startsWith('`'))).toEqual([])
    expect(terminal.shown()).toMatch(/^hint: .*\r?\n {6}\S/m)
  })

  test('prompt reports that there is nothing to choose from', async () => {
    const at = ['-p', 'e2e-empty', '--base-url', baseUrl]
    await voucherctl('login', '--local', '--account', 'e2e-empty', ...at)
    const command = [node, join('node_modules', 'voucherctl', 'bin', 'voucherctl.js'), 'apps', 'get', ...at].join(' ')
    const terminal = onTerminal(command, folder, { ...environment, TERM: 'xterm' })
    await terminal.until('there are no applications to choose from')
    terminal.type('app_none\r')
    expect(await terminal.exit).toBe(5)
  })
})

describe('words that people type', () => {
  test('version, -v and logs are commands, and ls, show and rm are names of list, get and revoke', async () => {
    const { stdout: version } = await voucherctl('--version')
    for (const word of ['version', '-v']) expect((await voucherctl(word)).stdout).toBe(version)
    expect((await voucherctl('logs')).exitCode).toBe(0)
    for (const words of [
      ['apps', 'show'],
      ['tokens', 'rm'],
    ])
      expect((await voucherctl(...words)).stderr).toMatch(/Missing: (APP|TOKEN)_ID/)
  })

  test('vouchers verify takes a code as its argument', async () => {
    const { exitCode, stderr } = await voucherctl('vouchers', 'verify', 'M9S3-46Q3-D25V-T4FK', '--base-url', baseUrl)
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('The redeem code is mistyped')])
  })

  test('the error for a mistyped value suggests the valid value', async () => {
    const { stderr } = await voucherctl('templates', 'list', '--status', 'activ')
    expect(stderr).toContain('Did you mean active?')
  })
})

describe('history of a voucher', () => {
  test('platform vouchers show draws the history of a voucher after a reversal', async () => {
    const run = (line: string) => voucherctl(...line.split(' '), '-p', 'life', '--base-url', baseUrl)
    const idOf = async (line: string) => (await run(`${line} --jq .id`)).stdout
    await run('login --local --account life')
    const app = await idOf('apps create --name Shop')
    const scopes = ['templates:write', 'issue', 'redeem', 'reverse'].map((it) => `--scope vouchers:${it}`)
    await run(`tokens create --app ${app} ${scopes.join(' ')} --save`)
    const kind = '--name Coffee --type gift --issuer-name A --fulfiller-name B --fulfillment-category offline_service'
    const rest = '--acquisition-source free_claim --valid-days 30 --issue-limit 9 --submit'
    const template = await idOf(`templates create --external-id coffee ${kind} ${rest}`)
    const issued = await run(`vouchers issue --template ${template} --external-id order-1 --recipient user-1 --json`)
    const { id, credentials } = JSON.parse(issued.stdout) as { id: string; credentials: { value: string }[] }
    const redemption = await idOf(`vouchers redeem ${credentials[0]?.value} --idempotency-key e2e-redeem`)
    await run(`vouchers reverse ${redemption}`)
    expect((await run('platform vouchers list --recipient user-1 -q')).stdout).toBe(id)
    const { exitCode, stdout } = await run(`platform vouchers show ${id}`)
    expect([exitCode, stdout.match(/(?<=^● )\w+/gm)]).toEqual([0, ['issued', 'redeemed', 'reversed']])
    expect(stdout).toContain('e2e-redeem')
  })
})

describe('errors for people', () => {
  const run = (...args: string[]) => voucherctl(...args, '-p', 'errors', '--base-url', baseUrl)
  const refused = (...args: string[]) => run(...args).then(({ exitCode, stderr }) => [exitCode, stderr])
  const app = { id: '' }

  beforeAll(async () => {
    await voucherctl('login', '--local', '--account', 'errors', '-p', 'errors')
    app.id = (await run('apps', 'create', '--name', 'Till', '--jq', '.id')).stdout
    await run('tokens', 'create', '--app', app.id, '--scope', 'vouchers:read', '--save')
  })

  test('a refused credential is named with its kind, source and server, and whoami exits 4', async () => {
    environment.VOUCHERCTL_TOKEN = 'sop_unknown'
    const used = `credential: application token sop_… from VOUCHERCTL_TOKEN, for ${baseUrl}`
    expect(await refused('templates', 'list')).toEqual([4, expect.stringContaining(used)])
    const { exitCode, stdout } = await run('whoami')
    delete environment.VOUCHERCTL_TOKEN
    expect([exitCode, stdout]).toEqual([4, expect.stringMatching(/refused \(TOKEN_INVALID\)/)])
  })

  test('api and secure call name the refused credential and the id that was not found', async () => {
    environment.VOUCHERCTL_TOKEN = 'sop_unknown'
    const path = '/api/v1/open-platform/vouchers/templates'
    for (const command of [['api'], ['secure', 'call']])
      expect(await refused(...command, 'GET', path)).toEqual([
        4,
        expect.stringContaining(`credential: application token sop_… from VOUCHERCTL_TOKEN, for ${baseUrl}`),
      ])
    delete environment.VOUCHERCTL_TOKEN
    for (const command of [['api'], ['secure', 'call']])
      expect(await refused(...command, 'GET', '/api/v1/open-platform/applications/tpl_01')).toEqual([
        5,
        expect.stringContaining('\n  tpl_01 is the id of a template; that of an application begins with app_.\n'),
      ])
  })

  test('failure names the flag of a refused value', async () => {
    const { stderr } = await run('apps', 'create', '--name', 'x', '--allowed-origin', 'ftp://x')
    expect(stderr).toMatch(/\n {2}--allowed-origin ftp:\/\/x: must /)
  })

  test('explain and help explain a code', async () => {
    const explained = await run('explain', 'VOUCHER_EXPIRED')
    expect([explained.exitCode, explained.stdout]).toEqual([
      0,
      expect.stringMatching(/\nWhat to do: [^]*`voucherctl vouchers issue`/),
    ])
    expect((await voucherctl('help', 'VOUCHER_EXPIRED')).stdout).toBe(explained.stdout)
  })

  test('apps list --all --jq filters one document, with -o jsonl each item', async () => {
    expect((await run('apps', 'list', '--all', '--jq', '.items | length')).stdout).toBe('1')
    expect((await run('apps', 'list', '--all', '-o', 'jsonl', '--jq', '.id')).stdout).toBe(app.id)
  })
})

describe('templates as code', () => {
  const file = join(home, 'templates.yaml')
  const run = (...args: string[]) => voucherctl(...args, '-p', 'files')
  const schemaOf = (path: string) => {
    const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(path, 'utf8')) ?? []
    return resolve(dirname(path), schema)
  }

  beforeAll(async () => {
    await run('login', '--local', '--account', 'files')
    const app = await run('apps', 'create', '--name', 'Coffee shop', '--jq', '.id')
    const scopes = ['--scope', 'vouchers:read', '--scope', 'vouchers:templates:write']
    await run('tokens', 'create', '--app', app.stdout, '--name', 'files', ...scopes, '--save')
  })

  test('init commands write files that name a JSON Schema of the package', async () => {
    const scenario = join(home, 'scenario.yaml')
    await Promise.all([run('templates', 'init', file), run('scenario', 'init', scenario)])
    const inProject = join(folder, 'e2e-templates.yaml')
    rmSync(inProject, { force: true })
    await run('templates', 'init', inProject)
    expect(schemaOf(inProject)).toBe(join(folder, 'node_modules/voucherctl/dist/schemas/templates.schema.json'))
    rmSync(inProject)
    for (const path of [file, scenario])
      expect(JSON.parse(readFileSync(schemaOf(path), 'utf8'))).toMatchObject({ type: 'object' })
  })

  test('templates create refuses broken JSON and an unknown member with line and column', async () => {
    const json = join(home, 'template.json')
    for (const [text, problem] of [
      ['{\n  "name": "Coffee",\n}', '3:1: JSON needs " here.'],
      ['{\n  "nam": "Coffee"\n}', '2:3: The file has no member "nam": did you mean "name"?'],
    ] as const) {
      writeFileSync(json, text)
      const { exitCode, stderr } = await run('templates', 'create', '--file', json)
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`${json}:${problem}`)])
    }
  })

  test('scenario run refuses an unknown code and a receive without a webhook before any step', async () => {
    const path = join(home, 'wrong.yaml')
    const steps = '  - call: apps.list\n    expect: { code: APPLICATION_NOT_FOND }\n  - receive: message\n'
    writeFileSync(path, `steps:\n${steps}`)
    const { exitCode, stdout, stderr } = await voucherctl('scenario', 'run', path)
    expect([exitCode, stdout]).toEqual([2, ''])
    expect(stderr).toContain(':3:15: There is no failure code "APPLICATION_NOT_FOND": did you mean "APPLICATION_NOT_F')
    expect(stderr).toContain(':4:5: No step before this one sets a webhook')
  })

  test('templates apply creates the templates that diff reports as missing, then changes nothing', async () => {
    expect(await run('templates', 'diff', '-f', file)).toMatchObject({ exitCode: 1 })
    expect((await run('templates', 'apply', '-f', file)).stdout).toMatch(/^coffee-1 {2}created {2}reviewing/)
    expect(await run('templates', 'diff', '-f', file)).toMatchObject({ exitCode: 0 })
    expect((await run('templates', 'apply', '-f', file)).stdout).toMatch(/^coffee-1 {2}unchanged/)
  })

  test('templates get shows a template by its external id', async () => {
    const { stdout } = await run('templates', 'get', 'coffee-1', '--jq', '.externalTemplateId')
    expect(stdout).toBe('coffee-1')
  })
})

describe('the daily start and the log of the server', () => {
  afterAll(() => voucherctl('server', 'stop', '-p', 'daily'))

  let url: string
  beforeAll(async () => {
    const started = await voucherctl('server', 'start', '--memory', '--detach', '--port', '0', '--json')
    url = (JSON.parse(started.stdout) as { base_url: string }).base_url
  })

  test('server list shows a server in memory, and login --local finds it by its base URL', async () => {
    const listed = await voucherctl('server', 'list', '--json')
    const { items } = JSON.parse(listed.stdout) as { items: { base_url: string; store: string }[] }
    expect(items).toContainEqual(expect.objectContaining({ base_url: url, store: 'memory' }))
    const login = await voucherctl('login', '--local', '--account', 'me', '-p', 'daily', '--base-url', url)
    expect(login.stdout).toContain(`for ${url}, the local server of `)
  })

  test('a platform command names the start of the stopped server of its profile', async () => {
    expect((await voucherctl('server', 'stop', '-p', 'daily')).stdout).toContain(`The server on ${url} has stopped.`)
    const { exitCode, stderr } = await voucherctl('platform', 'reviews', '-p', 'daily')
    expect([exitCode, stderr]).toEqual([9, expect.stringMatching(/`voucherctl server start --detach --port \d+ --pro/)])
    expect((await voucherctl('server', 'list', '--json')).stdout).not.toContain(url)
  })

  test('server logs --status --tail prints the last refused request, not its own', async () => {
    writeFileSync(join(home, 'token'), 'no-such-token')
    await voucherctl('apps', 'list', '--base-url', baseUrl, '--token-file', join(home, 'token'))
    const { stdout } = await voucherctl('server', 'logs', '--base-url', baseUrl, '--status', '4xx', '--tail', '1')
    expect(stdout).toMatch(/ 401 GET +[\d.]+ ms \/api\/v1\/open-platform\/applications TOKEN_INVALID$/)
    const all = await voucherctl('server', 'logs', '--base-url', baseUrl)
    expect(all.stdout).not.toMatch(/_platform\/v1\/requests|healthz/)
  })
})

describe('bulk commands', () => {
  const path = (name: string) => join(home, name)
  const run = (...args: string[]) => voucherctl(...args, '-p', 'bulk')
  type Summary = Readonly<Record<string, unknown>>
  const many = async (command: string, input: string, out: string, ...more: string[]): Promise<Summary> => {
    const ran = await run('vouchers', command, path(input), '--out', path(out), '--json', ...more)
    return { exit: ran.exitCode, ...(JSON.parse(ran.stdout) as Summary) }
  }

  beforeAll(async () => {
    await run('login', '--local', '--account', 'bulk')
    const app = await run('apps', 'create', '--name', 'Coffee shop', '--jq', '.id')
    const scopes = ['read', 'templates:write', 'issue', 'verify', 'redeem', 'reverse'].map((it) => `vouchers:${it}`)
    const flags = scopes.flatMap((it) => ['--scope', it])
    await run('tokens', 'create', '--app', app.stdout, '--name', 'bulk', ...flags, '--save')
    const texts = ['--name', 'Coffee', '--type', 'gift', '--issuer-name', 'Shop', '--fulfiller-name', 'Shop']
    const kinds = ['--fulfillment-category', 'offline_service', '--acquisition-source', 'free_claim']
    const limits = ['--valid-days', '3', '--issue-limit', '2', '--submit', '--jq', '.id']
    const template = await run('templates', 'create', '--external-id', 'bulk', ...texts, ...kinds, ...limits)
    writeFileSync(path('in.csv'), 'external_issue_id,recipient_user_id\na,u\nb,v\nc,w\n')
    const issued = await many('issue-many', 'in.csv', 'codes.csv', '--template', template.stdout)
    expect(issued).toMatchObject({ exit: 11, issued: 2, failures: { TEMPLATE_QUOTA_EXHAUSTED: 1 } })
    expect(issued.next).toMatch(/`voucherctl vouchers issue-many --resume .+`/)
  })

  test('redeem-many after a reversal redeems again instead of a replay', async () => {
    expect(await many('redeem-many', 'codes.csv', 'redeemed.csv')).toMatchObject({ exit: 0, redeemed: 2, replayed: 0 })
    expect(await many('reverse-many', 'redeemed.csv', 'reversed.csv')).toMatchObject({ exit: 0, reversed: 2 })
    expect(await many('redeem-many', 'codes.csv', 'again.csv')).toMatchObject({ exit: 0, redeemed: 2, replayed: 0 })
  })

  test('verify-many exits 0 for any results, and 6 with --check', async () => {
    writeFileSync(path('unknown.csv'), 'qr_token\nVQ1-000000000000000000000000000000000\n')
    const found = { verified: 1, redeemable: 0, not_redeemable: 1, failed: 0 }
    expect(await many('verify-many', 'unknown.csv', 'one.csv')).toMatchObject({ exit: 0, ...found })
    expect(await many('verify-many', 'unknown.csv', 'two.csv', '--check')).toMatchObject({ exit: 6, ...found })
  })
})

describe('vouchers sheet', () => {
  const codes = join(home, 'sheet.csv')
  const tokens = Array.from(
    { length: 11 },
    (_, i) => `VQ1-PENECFSECZP11HYGCPWPQ5E6EYCNDY0${String(i).padStart(2, '0')}`,
  )
  const sheet = (...args: string[]) => voucherctl('vouchers', 'sheet', codes, ...args)
  const rowsOf = (name: string) =>
    `qr_token,redeem_code,name,recipient_user_id\n${tokens.map((it, i) => `${it},CODE-${i},${name},user-${i}\n`).join('')}`

  test('the sheet is HTML in mode 0600, and a PDF is refused', async () => {
    writeFileSync(codes, rowsOf('咖啡'))
    const out = join(home, 'sheet.html')
    expect(await sheet('--out', out)).toMatchObject({ exitCode: 0 })
    expect(statSync(out).mode & 0o777).toBe(0o600)
    const html = readFileSync(out, 'utf8')
    expect(html.match(/<h2 dir="auto">咖啡<\/h2>/g)).toHaveLength(11)
    expect(html.match(/CODE-\d+/g)).toHaveLength(11)
    const { exitCode, stderr } = await sheet('--out', join(home, 'sheet.pdf'))
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('For a PDF, open the HTML file in a browser')])
  })
})

describe('scenarios and webhooks', () => {
  const write = (name: string, text: string) => {
    writeFileSync(join(home, name), text)
    return join(home, name)
  }

  test('wildcard route takes an update, replay --set changes it, and the inbox keeps the response', async () => {
    const app = createServer((_request, response) => response.writeHead(202, { 'X-App': 'yes' }).end('Thanks'))
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
    const { port } = app.address() as AddressInfo
    const secret = write('secret.txt', 'a-secret-of-your-own')
    const [inbox, ready] = [join(home, 'inbox'), join(home, 'ready.json')]
    const flags = ['--secret-file', secret, '--inbox', inbox, '--ready-file', ready, '--max-events', '1']
    const listening = voucherctl(
      'webhook',
      'listen',
      '--port',
      '0',
      ...flags,
      '--route',
      `mess*=http://127.0.0.1:${port}/hook`,
    )
    listening.stderr?.once('data', async () => {
      const { url } = JSON.parse(readFileSync(ready, 'utf8')) as { url: string }
      await voucherctl('webhook', 'trigger', 'message', '--url', url, '--secret-file', secret)
    })
    expect((await listening).exitCode).toBe(0)
    const change = ['--set', 'message.text=Changed', '--secret-file', secret]
    expect(await voucherctl('webhook', 'replay', '--last', ...change, '--inbox', inbox)).toMatchObject({ exitCode: 0 })
    app.close()
    const { stdout } = await voucherctl('webhook', 'inbox', 'show', '1-1', '--inbox', inbox)
    expect(stdout).toMatch(/responded 202 after \d+ ms {2}by http:\S+\/hook\n(?:.+\n)*X-App: yes\n(?:.+\n)*\nThanks\n/)
    expect(stdout).toMatch(/replayed 202 after/)
  })
})

describe('lists and records', () => {
  test('an empty list names the server, its filter and the number without it', async () => {
    const { stdout } = await voucherctl('platform', 'chats', 'list', '--user', 'nobody', '--base-url', baseUrl)
    expect(stdout).toMatch(/^No chats on http:\/\/127\.0\.0\.1:\d+ match --user nobody\. There are no chats at all\./)
  })

  test('-q prints only ids', async () => {
    const { stdout } = await voucherctl('server', 'keys', 'list', '-q', '--base-url', baseUrl)
    expect(stdout).toMatch(/^[\w-]{16}\n[\w-]{16}$/)
  })
})

describe('help', () => {
  test('profiles set --secure required says how to undo the setting', async () => {
    expect((await voucherctl('profiles', 'set', '--help')).stdout.replace(/\s+/g, ' ')).toContain(
      '`voucherctl profiles set --unset secure.mode` undoes --secure.',
    )
  })
})
