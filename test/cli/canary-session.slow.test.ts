import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { environment, handedIn, leaksBelow, leaksIn, leaksInProcess } from '../support/canary.js'
import { built, type Finished } from '../support/cli/built-cli.js'
import { temporaryDir } from '../support/cli/cli.js'

/** Runs commands with one home folder and records their output. */
class CommandSession {
  readonly home = temporaryDir()
  readonly runs: { readonly line: string; readonly ran: Finished }[] = []

  async run(line: string, { env = {}, stdin }: { env?: Record<string, string>; stdin?: string } = {}): Promise<string> {
    const child = built.start([...line.split(' '), '--debug'], this.home, env)
    const ran = { exit: null as number | null, signal: null, stdout: '', stderr: '' }
    child.stdout.on('data', (chunk) => (ran.stdout += chunk))
    child.stderr.on('data', (chunk) => (ran.stderr += chunk))
    child.stdin.on('error', () => {}).end(stdin)
    ran.exit = await new Promise((resolve) => child.once('close', resolve))
    this.runs.push({ line, ran })
    expect([line, ran.exit, ran.exit === 0 ? '' : ran.stderr]).toEqual([line, 0, ''])
    return ran.stdout
  }

  async json(line: string, given?: { env?: Record<string, string>; stdin?: string }) {
    return JSON.parse(await this.run(`${line} --json`, given))
  }

  file(name: string, content: string): string {
    writeFileSync(join(this.home, name), content, { mode: 0o600 })
    return name
  }
}

const scopes = ['read', 'templates:write', 'issue', 'verify', 'redeem', 'reverse'].map((it) => `--scope vouchers:${it}`)
const template =
  'templates create --external-id coffee --name Coffee --type exchange --issuer-name A --fulfiller-name B --fulfillment-category offline_service --acquisition-source free_claim --valid-days 30 --issue-limit 9 --submit'

test('commands write secrets only to files for them', { tags: ['stored-secrets/1', 'stored-secrets/2'] }, async () => {
  const session = new CommandSession()
  const { pid } = await session.json('server start --detach --port 0 --auto-approve', { env: environment })
  try {
    await session.run('login --local --account demo')
    const app = await session.json('apps create --name Shop')
    await session.json(`tokens create --app ${app.id} ${scopes.join(' ')} --save`)
    const { id: templateId } = await session.json(template)
    const issue = `vouchers issue --template ${templateId}`
    const voucher = await session.json(`${issue} --external-id order-1 --recipient user-1 --qr-file voucher.svg`)
    const [code, qr] = ['redeem_code', 'qr_token'].map(
      (type) => voucher.credentials.find((it: { type: string }) => it.type === type).value as string,
    )
    const stdin = `${code}\n`
    await session.run('vouchers verify --code -', { stdin })
    await session.run('vouchers verify --qr-token - --secure required', { stdin: `${qr}\n` })
    const redemption = await session.json('vouchers redeem --code -', { stdin })
    await session.run(`vouchers reverse ${redemption.id}`)
    await session.run('platform vouchers show -', { stdin })
    await session.run('platform vouchers list --json')

    const bot = await session.json(
      'bots apply --name Coffee --username coffee_bot --scope messages:send --scope messages:receive --scope vouchers:issue',
    )
    await session.run(`bots get ${bot.id} --save --json`)
    await session.run(`apps link-bot ${app.id} --bot ${bot.id}`)
    const chat = await session.json(`platform users start --bot ${bot.id} --user user-2`)
    await session.json(`${issue} --external-id order-2 --chat ${chat.id}`)
    const webhookSecret = 'CANARYwebhookSecretOfTheStory8Rk2'
    const secretFile = session.file('webhook.secret', `${webhookSecret}\n`)
    await session.json(`webhook set ${bot.id} --url https://shop.example/hook --secret-file ${secretFile}`)
    await session.json(`platform users send ${chat.id} --text Hello`)

    const { profiles } = JSON.parse(readFileSync(join(session.home, '.config', 'voucherctl', 'config.json'), 'utf8'))
    const { token, bot: botToken, jwt } = profiles.default.credentials
    const data = join(session.home, '.local', 'share', 'voucherctl')
    const secrets = {
      ...handedIn,
      token: token.value,
      'bot token': botToken.value,
      jwt: jwt.value,
      'operator key': readFileSync(join(data, 'operator.key'), 'utf8').trim(),
      'webhook secret': webhookSecret,
      code: code as string,
      'QR token': qr as string,
    }
    expect(leaksInProcess(pid, secrets)).toEqual([])
    await session.run('server logs --json')
    await session.run('server stop')

    for (const { line, ran } of session.runs) {
      expect([line, leaksIn(ran.stderr, secrets)]).toEqual([line, []])
      // Only `vouchers issue` may print the credentials of the voucher.
      const printed = line.startsWith('vouchers issue') && line.includes('order-1') ? ['code', 'QR token'] : []
      expect([line, leaksIn(ran.stdout, secrets)]).toEqual([line, printed])
    }
    expect(leaksBelow(session.home, secrets).sort()).toEqual([
      '.config/voucherctl/config.json: bot token',
      '.config/voucherctl/config.json: jwt',
      '.config/voucherctl/config.json: token',
      '.local/share/voucherctl/operator.key: operator key',
      'webhook.secret: webhook secret',
    ])
  } finally {
    await built.run(['server', 'stop'], session.home)
  }
})

test('webhook listen and trigger write no secret to the inbox or the output', async () => {
  const session = new CommandSession()
  const secretFile = session.file('webhook.secret', handedIn['webhook secret of a file'])
  const listener = built.start(
    [
      'webhook',
      'listen',
      '--port',
      '0',
      '--secret-file',
      secretFile,
      '--max-events',
      '1',
      '--ready-file',
      'ready',
      '--json',
    ],
    session.home,
  )
  let output = ''
  listener.stdout.on('data', (chunk) => (output += chunk))
  listener.stderr.on('data', (chunk) => (output += chunk))
  const ended = new Promise((resolve) => listener.once('close', resolve))
  try {
    const ready = await vi.waitUntil(() => readyIn(session.home), { timeout: 120_000 })
    await session.run(`webhook trigger message --url ${ready} --secret-file ${secretFile}`)
    expect(await ended).toBe(0)
  } finally {
    listener.kill('SIGKILL')
  }
  expect(leaksIn(output + session.runs.map(({ ran }) => ran.stdout + ran.stderr).join('\n'), handedIn)).toEqual([])
  expect(leaksBelow(session.home, handedIn)).toEqual(['webhook.secret: webhook secret of a file'])
})

/** The URL in the file of --ready-file; undefined until that file exists. */
function readyIn(home: string): string | undefined {
  try {
    return /https?:\/\/[^\s"]+/.exec(readFileSync(join(home, 'ready'), 'utf8'))?.[0]
  } catch {
    return undefined
  }
}

test('the test helper leaksBelow finds a secret in a binary file and in a file name', () => {
  const dir = temporaryDir()
  const { 'token of a file': secret } = handedIn
  writeFileSync(join(dir, 'x.db'), Buffer.concat([Buffer.alloc(4_096, 7), Buffer.from(secret), Buffer.alloc(4_096)]))
  writeFileSync(join(dir, `${secret}.log`), '')
  expect(leaksBelow(dir, handedIn).sort()).toEqual([`${secret}.log: token of a file`, 'x.db: token of a file'])
})

test.runIf(process.platform === 'linux')(
  'the test helper leaksInProcess finds secrets in arguments and environment of a process',
  () => {
    const { 'token of a file': secret } = handedIn
    const child = spawn(process.execPath, ['-e', 'process.stdin.resume()', secret], {
      env: { SECRET: secret },
      stdio: 'pipe',
    })
    try {
      const leaks = leaksInProcess(child.pid as number, handedIn)
      expect(leaks).toEqual(['cmdline: token of a file', 'environ: token of a file'])
    } finally {
      child.kill('SIGKILL')
    }
  },
)
