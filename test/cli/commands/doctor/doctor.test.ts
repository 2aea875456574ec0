import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { bounded, type Check } from '../../../../src/cli/commands/doctor/check.js'
import {
  checkDisk,
  checkExtraCa,
  checkNode,
  checkPort,
  checkSqlite,
  loadSqlite,
} from '../../../../src/cli/commands/doctor/machine.js'
import { clockOf } from '../../../../src/cli/commands/doctor/server.js'
import { checkTls } from '../../../../src/cli/commands/doctor/tls.js'
import { expiredHooksExampleCom, hooksExampleCom } from '../../../server/delivery/certificates.js'
import { cli, type Given, type Ran, refusal, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { type CliServer, cliServer } from '../../../support/cli/server.js'
import { closedPort } from '../../../support/closed-port.js'
import { listen, rawServer } from '../../../support/listen.js'
import { selfSigned } from '../../../support/secure/self-signed.js'

let server: CliServer
beforeAll(async () => {
  server = await cliServer()
})
afterAll(() => server.close())

interface Found {
  readonly exit: number
  readonly stdout: string
  readonly ok: boolean
  check(name: string): Check | undefined
}

async function doctor(given: Given = {}, flags = ''): Promise<Found> {
  // The limits of doctor never pass, so that a slow machine does not fail a check.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const ran = await cli(`doctor --json ${flags}`, { now: Date.now(), ...given }).finally(() => vi.useRealTimers())
  expect(ran.stderr).toBe('')
  const { ok, checks } = JSON.parse(ran.stdout) as { ok: boolean; checks: Check[] }
  expect(ok).toBe(checks.every((it) => it.status !== 'fail'))
  expect(ran.exit).toBe(ok ? 0 : 1)
  // No check may fail without a fix to print.
  for (const it of checks) {
    expect([it.name, it.fix === null]).toEqual([
      it.name,
      it.status === 'ok' || (it.status === 'skip' && it.fix === null),
    ])
    if (it.fix !== null) expect(it.fix).not.toBe('')
  }
  expect(ran.stdout).not.toContain('CANARY')
  return { exit: ran.exit, stdout: ran.stdout, ok, check: (name) => checks.find((it) => it.name === name) }
}

const configDir = (home: string) => join(home, '.config', 'voucherctl')
const dataDir = (home: string) => join(home, '.local', 'share', 'voucherctl')
const at = (baseUrl: string, more: Record<string, string> = {}) => ({ VOUCHERCTL_BASE_URL: baseUrl, ...more })

function withProfile(profile: object, mode = 0o600): string {
  const home = temporaryDir()
  mkdirSync(configDir(home), { recursive: true, mode: 0o700 })
  const content = { current: 'default', profiles: { default: profile } }
  writeFileSync(join(configDir(home), 'config.json'), JSON.stringify(content), { mode })
  return home
}

describe('doctor', () => {
  test('doctor exits 0 without configuration, server and credentials', async () => {
    const found = await doctor()
    expect([found.exit, found.ok]).toEqual([0, true])
    for (const name of ['server', 'TLS', 'clock', 'encrypted transport', 'application token', 'base URL'])
      expect([name, found.check(name)?.status]).toEqual([name, 'skip'])
    expect(found.check('base URL')?.fix).toContain('server start --detach')
  })

  test('doctor reports ok for server, clock, encryption, credentials and scopes of a working setup', async () => {
    const found = await doctor({ env: server.env })
    for (const name of ['server', 'TLS', 'clock', 'encrypted transport', 'account JWT', 'operator key'])
      expect([name, found.check(name)?.status]).toEqual([name, 'ok'])
    expect(found.check('server')?.message).toContain('the reference server')
    expect(found.check('account JWT')?.message).toMatch(/accepted, account \S+, until \d{4}-/)
    expect(found.check('application token')).toMatchObject({ status: 'ok' })
    expect(found.check('application token')?.message).toMatch(/vouchers:read.*vouchers:reverse\.$/)
    for (const secret of [server.token, server.jwt, server.operatorKey]) expect(found.stdout).not.toContain(secret)
  })

  test('doctor detects missing token scopes with requests that change nothing', { tags: 'doctor/1' }, async () => {
    const env = at(server.baseUrl, { VOUCHERCTL_JWT: server.jwt })
    const scopes = '--scope vouchers:verify --scope vouchers:redeem'
    const created = await cli(`tokens create --app app_shop --name till ${scopes} --json`, { env })
    const { token } = JSON.parse(created.stdout) as { token: string }
    const before = await cli('api GET /open-platform/vouchers/templates', {
      env: at(server.baseUrl, { VOUCHERCTL_TOKEN: server.token }),
    })
    const found = await doctor({ env: at(server.baseUrl, { VOUCHERCTL_TOKEN: token }) })
    expect(found.check('application token')?.message).toBe(
      'From environment VOUCHERCTL_TOKEN, accepted for vouchers:verify, vouchers:redeem; without vouchers:read, vouchers:templates:write, vouchers:issue, vouchers:reverse.',
    )
    const after = await cli('api GET /open-platform/vouchers/templates', {
      env: at(server.baseUrl, { VOUCHERCTL_TOKEN: server.token }),
    })
    expect(after.stdout).toBe(before.stdout)
  })

  test('doctor works over the encrypted transport without changing the profile', async () => {
    const home = withProfile({ base_url: server.baseUrl, secure: { mode: 'auto' } })
    const file = join(configDir(home), 'config.json')
    const { readFileSync } = await import('node:fs')
    const before = readFileSync(file, 'utf8')
    const found = await doctor({ home, env: { VOUCHERCTL_TOKEN: server.token } })
    expect(found.check('application token')?.status).toBe('ok')
    expect(readFileSync(file, 'utf8')).toBe(before)
  })

  test('doctor applies --jq and --fields to its JSON document', async () => {
    const ran = await cli(['doctor', '--jq', '[.checks[] | select(.status == "fail")] | length'], { now: Date.now() })
    expect([ran.exit, ran.stdout]).toEqual([0, '0\n'])
    expect(JSON.parse((await cli('doctor --fields ok -o json', { now: Date.now() })).stdout)).toEqual({ ok: true })
  })

  test('doctor --dry-run sends nothing', async () => {
    const { baseUrl, received } = await stub(() => success({}))
    const found = await doctor({ env: { ...secrets, ...at(baseUrl) } }, '--dry-run')
    expect([found.check('server')?.status, received]).toEqual(['skip', []])
  })

  test('doctor prints a list that fits 80 columns with a fix below each failed check', async () => {
    const home = withProfile({ base_url: `http://127.0.0.1:${await closedPort()}` }, 0o644)
    const ran = await cli('doctor', { home, terminal: true, columns: 80, env: { NO_COLOR: '1' }, now: Date.now() })
    expect([ran.exit, ran.stderr]).toEqual([1, ''])
    const lines = ran.stdout.trimEnd().split('\n')
    // doctor does not wrap paths and commands, so that a user can copy them.
    expect(lines.filter((line) => [...line].length > 80 && !/\S{40}/.test(line))).toEqual([])
    const wrong = lines.findIndex((line) => line.startsWith('✗ permissions'))
    expect(lines.slice(wrong, wrong + 4).join(' ')).toContain('chmod 600')
    expect(ran.stdout).toContain('\n23 checks: 2 failed (permissions, server), ')
    const coloured = await cli('doctor', { home, terminal: true, columns: 80, now: Date.now() })
    expect(coloured.stdout).toContain('\u001b[')
  })
})

describe('doctor on this machine', () => {
  test('doctor fails for a Node version below 20.19', () => {
    expect(checkNode('20.18.3')).toMatchObject({ status: 'fail', fix: expect.stringContaining('20.19') })
    expect(checkNode('18.20.0').status).toBe('fail')
    for (const version of ['20.19.0', '22.1.0', '26.0.0']) expect(checkNode(version).status).toBe('ok')
  })

  test('doctor warns about missing SQLite, which only the server needs', () => {
    const missing = () => {
      throw Object.assign(new Error('nowhere'), { code: 'MODULE_NOT_FOUND' })
    }
    expect(checkSqlite(missing)).toMatchObject({ status: 'warn', fix: expect.stringContaining('22.13') })
    expect(checkSqlite(loadSqlite)).toMatchObject({ status: 'ok', message: expect.stringMatching(/^SQLite 3\./) })
  })

  test('doctor fails if the NODE_EXTRA_CA_CERTS file is missing, and warns on Node 20 if it exists', async () => {
    const file = join(temporaryDir(), 'ca.pem')
    const found = await doctor({ env: { NODE_EXTRA_CA_CERTS: file } })
    expect(found.check('extra certificates')).toMatchObject({ status: 'fail', fix: expect.stringContaining('unset') })
    writeFileSync(file, selfSigned.cert)
    expect(checkExtraCa(file, '20.19.0')).toMatchObject({ status: 'warn', fix: expect.stringContaining('Node 22') })
    expect(checkExtraCa(file, '22.13.0').status).toBe('ok')
  })

  test('doctor warns below 500 MiB of disk space and fails below 50 MiB', async () => {
    const free = (mib: number) => checkDisk('/data', async () => mib * 1024 * 1024)
    expect((await free(5_000)).status).toBe('ok')
    expect(await free(499)).toMatchObject({ status: 'warn', fix: expect.stringContaining('--data') })
    expect((await free(49)).status).toBe('fail')
  })

  test('doctor warns about a port in use and names the program that listens on it', async () => {
    const port = await listen(createServer())
    const asked = { name: 'the server', port, fix: 'Take another.' }
    expect(await checkPort({ ...asked, holder: () => undefined })).toMatchObject({
      status: 'warn',
      fix: 'Take another.',
    })
    expect((await checkPort({ ...asked, holder: () => 'our server' })).message).toBe('Held by our server.')
    expect((await checkPort({ ...asked, port: await closedPort(), holder: () => undefined })).status).toBe('ok')
  })

  test('doctor warns of all NO_PROXY entries that match no host, and checks the server', async () => {
    const entries = [
      ...['/var/run/docker.sock', '127/8', '256.1.1.1', '[::1', 'localhost:99999', 'a..b', '10.0.0.0/33'],
      ...['http://ann:CANARY@intranet.example', 'a;b', 'x*', 'fe80::1%eth0'],
    ]
    const noProxy = ['example.org', ...entries, '127.0.0.2'].join(',')
    const found = await doctor({ env: { HTTP_PROXY: 'http://127.0.0.1:1', NO_PROXY: noProxy, ...server.env } })
    const shown = entries.join(', ').replace('http://ann:CANARY', '…')
    expect(found.check('proxy')).toMatchObject({
      status: 'warn',
      message: expect.stringContaining(`NO_PROXY has entries that match no host: ${shown}.`),
    })
    expect(found.check('server')?.status).toBe('ok')
  })

  test('doctor names the proxy without credentials, and fails for a malformed proxy variable', async () => {
    const env = { HTTPS_PROXY: 'http://user:CANARY@127.0.0.1:1' }
    const far = await doctor({ env: { ...env, ...at('https://vouchers.invalid') } }, '--dry-run')
    const message = 'The server is called through http://127.0.0.1:1 (HTTPS_PROXY).'
    expect(far.check('proxy')).toMatchObject({ status: 'ok', message })
    const near = await doctor({ env: { ...env, ...at('http://127.0.0.1:1') } }, '--dry-run')
    expect(near.check('proxy')?.message).toContain('called directly')
    const malformed = { HTTPS_PROXY: 'socks5://user:CANARY@127.0.0.1:1', ...at('https://vouchers.invalid') }
    const refused = await doctor({ env: malformed }, '--dry-run')
    expect(refused.check('proxy')).toMatchObject({ status: 'fail', message: expect.stringContaining('HTTPS_PROXY') })
    expect(JSON.stringify([far, near, refused])).not.toContain('CANARY')
  })
})

describe('doctor on files', () => {
  test('doctor fails for an invalid profile file and runs all other checks', async () => {
    const home = temporaryDir()
    mkdirSync(configDir(home), { recursive: true, mode: 0o700 })
    writeFileSync(join(configDir(home), 'config.json'), '{ "profiles": CANARY', { mode: 0o600 })
    const found = await doctor({ home, env: at(server.baseUrl) })
    expect(found.check('profile file')).toMatchObject({ status: 'fail', fix: expect.stringContaining('Repair it') })
    expect(found.check('server')?.status).toBe('ok')
  })

  test('doctor fails for a selected profile that does not exist', async () => {
    const found = await doctor({ home: withProfile({}), env: { VOUCHERCTL_PROFILE: 'shop' } })
    expect(found.check('profile file')).toMatchObject({ status: 'fail', fix: 'Use one of default.' })
    expect(found.check('profile file')?.message).toContain('environment VOUCHERCTL_PROFILE')
  })

  test('doctor fails for wide permissions of a profile and names the fix', { tags: 'doctor/1' }, async () => {
    const file = withProfile({}, 0o640)
    expect((await doctor({ home: file })).check('permissions')).toMatchObject({
      status: 'fail',
      fix: `Close it: chmod 600 ${join(configDir(file), 'config.json')}`,
    })
    const home = withProfile({})
    for (const [mode, status] of [
      [0o770, 'fail'],
      [0o750, 'warn'],
      [0o700, 'ok'],
    ] as const) {
      chmodSync(configDir(home), mode)
      const check = (await doctor({ home })).check('permissions')
      expect([mode, check?.status]).toEqual([mode, status])
      if (status !== 'ok') expect(check?.fix).toBe(`Close it: chmod 700 ${configDir(home)}`)
    }
  })

  test('doctor warns of a voucherctl.json, names its replacement and does not read it', async () => {
    const cwd = temporaryDir()
    expect((await doctor({ cwd })).check('project file')).toBeUndefined()
    const file = join(cwd, 'voucherctl.json')
    writeFileSync(file, `{"token":"${secrets.VOUCHERCTL_TOKEN}","base_url":"http://127.0.0.1:1"`)
    const found = await doctor({ cwd, home: withProfile({ timeout: 'soon' }) })
    expect(found.check('project file')).toEqual({
      name: 'project file',
      status: 'warn',
      message: `${file} is no longer read.`,
      fix: 'Set VOUCHERCTL_BASE_URL or VOUCHERCTL_PROFILE in the environment instead, for example in an .envrc.',
    })
    expect((await doctor({ cwd })).check('base URL')?.status).toBe('skip')
  })

  test('doctor fails for an invalid setting and names its source', async () => {
    const found = await doctor({ home: withProfile({ timeout: 'soon' }) })
    expect(found.check('settings')).toMatchObject({ status: 'fail', fix: 'It came from profile default.' })
    expect(found.check('base URL')?.status).toBe('skip')
  })

  test('doctor fails if key files are missing or others can read them, and warns of a dead server', async () => {
    const home = temporaryDir()
    const dir = dataDir(home)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    expect((await doctor({ home })).check('data folder')?.status).toBe('ok')
    writeFileSync(join(dir, 'server.json'), JSON.stringify({ pid: 2 ** 30, base_url: 'http://127.0.0.1:1' }))
    expect((await doctor({ home })).check('data folder')).toMatchObject({
      status: 'warn',
      fix: expect.stringContaining('server start'),
    })
    chmodSync(dir, 0o755)
    expect((await doctor({ home })).check('data folder')?.fix).toBe(`Close it: chmod 700 ${dir}`)
    writeFileSync(join(dir, 'voucherctl.db'), '', { mode: 0o600 })
    expect((await doctor({ home })).check('data folder')?.fix).toContain('from a backup')
    writeFileSync(join(dir, 'keys.json'), '', { mode: 0o644 })
    expect((await doctor({ home })).check('data folder')).toMatchObject({
      status: 'fail',
      fix: `Close it: chmod 600 ${join(dir, 'keys.json')}`,
    })
  })

  test('doctor fails if the data folder is a file and warns about an inbox that others can read', async () => {
    const home = temporaryDir()
    mkdirSync(join(dataDir(home), 'inbox'), { recursive: true, mode: 0o755 })
    expect((await doctor({ home })).check('inbox')).toMatchObject({
      status: 'warn',
      fix: `Close it: chmod 700 ${join(dataDir(home), 'inbox')}`,
    })
    const broken = temporaryDir()
    mkdirSync(join(broken, '.local', 'share'), { recursive: true })
    writeFileSync(dataDir(broken), '')
    expect((await doctor({ home: broken })).check('data folder')).toMatchObject({
      status: 'fail',
      fix: 'Move it away.',
    })
  })
})

describe('doctor on a server', () => {
  test('doctor fails for an invalid base URL and names its source', async () => {
    for (const url of ['nonsense', 'ftp://x', 'http://user:CANARY@x'])
      expect((await doctor({ env: at(url) })).check('base URL')).toMatchObject({
        status: 'fail',
        message: expect.stringContaining('from environment VOUCHERCTL_BASE_URL is invalid'),
        fix: 'To remove it: `unset VOUCHERCTL_BASE_URL`.',
      })
    expect((await doctor({}, '--base-url nonsense')).check('base URL')?.status).toBe('fail')
  })

  test('doctor fails for an unreachable server and skips the credential checks', { tags: 'doctor/1' }, async () => {
    const found = await doctor({ env: { ...secrets, ...at(`http://127.0.0.1:${await closedPort()}`) } })
    expect(found.check('server')).toMatchObject({ status: 'fail', message: expect.stringContaining('ECONNREFUSED') })
    expect(found.check('application token')?.status).toBe('skip')
  })

  test('doctor fails for a server that responds with a redirect or a 503', async () => {
    const moved = await stub(() => ({ status: 301, headers: { location: 'https://elsewhere.example/' } }))
    expect((await doctor({ env: at(moved.baseUrl) })).check('server')?.message).toContain('https://elsewhere.example/')
    const broken = await stub(() => refusal(503, 'SERVICE_UNAVAILABLE'))
    expect((await doctor({ env: at(broken.baseUrl) })).check('server')).toMatchObject({ status: 'fail' })
  })

  test('doctor warns about a clock offset of 20 s from the server and fails for 400 s', async () => {
    for (const [offset, status, side] of [
      [-20_000, 'warn', 'behind'],
      [20_000, 'warn', 'ahead of'],
      [-400_000, 'fail', 'behind'],
      [2_000, 'ok', ''],
    ] as const) {
      const check = (await doctor({ env: at(server.baseUrl), now: Date.now() + offset })).check('clock')
      expect([offset, check?.status]).toEqual([offset, status])
      expect(check?.message).toContain(side)
    }
    expect(clockOf(undefined, 0).status).toBe('skip')
  })

  test('doctor fails for http to another machine, or only warns with the encrypted transport', async () => {
    const options = { baseUrl: 'http://vouchers.example', timeoutMs: 1 }
    const host = { env: {}, now: Date.now }
    expect(await checkTls(host, { ...options, mode: 'off' })).toMatchObject({
      status: 'fail',
      fix: expect.stringContaining('https'),
    })
    expect((await checkTls(host, { ...options, mode: 'required' })).status).toBe('warn')
  })

  test('doctor fails for an untrusted or expired certificate and for disabled certificate checks', async () => {
    const baseUrl = `https://127.0.0.1:${await listen(createHttps(selfSigned))}`
    const found = await doctor({ env: at(baseUrl) })
    expect(found.check('TLS')).toMatchObject({
      status: 'fail',
      message: 'The certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT).',
      fix: expect.stringContaining('`export NODE_EXTRA_CA_CERTS="$PWD/server.pem"`'),
    })
    expect(found.check('server')?.fix).toBe('The check TLS below says how.')
    const other = `https://127.0.0.1:${await listen(createHttps(hooksExampleCom))}`
    const elsewhere = await checkTls(
      { env: {}, now: Date.now },
      {
        ...{ mode: 'off', timeoutMs: 60_000 },
        ...{ baseUrl: other, ca: hooksExampleCom.cert },
      },
    )
    expect(elsewhere.message).toBe('The certificate is for another host name (ERR_TLS_CERT_ALTNAME_INVALID).')
    expect(elsewhere.fix).toContain('subjectAltName')
    const careless = await doctor({ env: at(baseUrl, { NODE_TLS_REJECT_UNAUTHORIZED: '0' }) })
    expect(careless.check('TLS')?.message).toContain('NODE_TLS_REJECT_UNAUTHORIZED=0')
    const trusting = { baseUrl, mode: 'off', timeoutMs: 60_000, ca: selfSigned.cert } as const
    const today = { env: {}, now: Date.now }
    expect(await checkTls(today, trusting)).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('more days'),
    })
    const ends = Date.parse('2126-10-28T06:01:05Z')
    expect((await checkTls({ env: {}, now: () => ends - 5 * 86_400_000 }, trusting)).status).toBe('warn')
    expect((await checkTls({ env: {}, now: () => ends + 86_400_000 }, trusting)).status).toBe('fail')
    const expired = `https://127.0.0.1:${await listen(createHttps(expiredHooksExampleCom))}`
    const gone = await checkTls(today, { ...trusting, baseUrl: expired, ca: expiredHooksExampleCom.cert })
    expect(gone).toMatchObject({ status: 'fail', fix: expect.stringMatching(/^Renew the certificate/) })
  })

  test('doctor names a server at an IPv6 address in the form that openssl reads', async () => {
    const server = createHttps(selfSigned)
    await new Promise<void>((resolve) => server.listen(0, '::1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const options = { mode: 'off', timeoutMs: 60_000, baseUrl: `https://[::1]:${port}` } as const
    expect((await checkTls({ env: {}, now: Date.now }, options)).fix).toContain(` -connect [::1]:${port} <`)
  })

  test('doctor fails for a wrong pin, and for required encryption that the server has disabled', async () => {
    const pins = [`sha256:${'A'.repeat(43)}`]
    const pinned = withProfile({ base_url: server.baseUrl, secure: { pins } })
    expect((await doctor({ home: pinned })).check('encrypted transport')).toMatchObject({
      status: 'fail',
      fix: expect.stringContaining('secure pin'),
    })
    const off = await stub(() => ({ body: { enabled: false } }))
    const required = await doctor({ env: at(off.baseUrl) }, '--secure required')
    expect(required.check('encrypted transport')).toMatchObject({ status: 'fail', fix: expect.stringContaining('off') })
    const without = await stub(() => refusal(404, 'ROUTE_NOT_FOUND'))
    expect((await doctor({ env: at(without.baseUrl) })).check('encrypted transport')?.status).toBe('skip')
  })

  test.each([
    ['account JWT', 'VOUCHERCTL_JWT'],
    ['application token', 'VOUCHERCTL_TOKEN'],
    ['bot token', 'VOUCHERCTL_BOT_TOKEN'],
    ['operator key', 'VOUCHERCTL_OPERATOR_KEY'],
  ] as const)('doctor fails for a refused %s and names its source %s', { tags: 'doctor/1' }, async (name, variable) => {
    const found = await doctor({ env: at(server.baseUrl, { [variable]: secrets[variable] }) })
    expect(found.check(name)).toMatchObject({ status: 'fail', message: expect.stringContaining(variable) })
    expect(found.check(name)?.message).toContain('TOKEN_INVALID')
  })

  test('doctor sends a stored credential only to the server for which it was stored', async () => {
    const { baseUrl, received } = await stub(() => success({}))
    const credentials = { token: { value: secrets.VOUCHERCTL_TOKEN, origin: 'https://other.example' } }
    const found = await doctor({ home: withProfile({ base_url: baseUrl, credentials }) })
    expect(found.check('application token')).toMatchObject({
      status: 'skip',
      message: expect.stringContaining('other.example'),
    })
    expect(received.every((it) => it.headers.authorization === undefined)).toBe(true)
  })

  test('doctor warns about an account JWT that expires within an hour', async () => {
    const { baseUrl } = await stub(() => success({ items: [] }))
    const claims = Buffer.from(JSON.stringify({ sub: 'a', exp: Math.floor(Date.now() / 1000) + 600 })).toString(
      'base64url',
    )
    const found = await doctor({ env: at(baseUrl, { VOUCHERCTL_JWT: `eyJhbGciOiJub25lIn0.${claims}.CANARY` }) })
    expect(found.check('account JWT')).toMatchObject({ status: 'warn', fix: expect.stringContaining('login') })
  })
})

describe('doctor and time', () => {
  /** Runs doctor with fake timers, which advance once `isReady` returns true; resolves with the fake time passed. */
  async function timed(baseUrl: string, isReady: () => boolean) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    let ran: Ran | undefined
    const ended = cli('doctor --json', { now: Date.now(), env: { ...secrets, ...at(baseUrl) } }).then(
      (it) => (ran = it),
    )
    // vi.waitUntil would advance the time.
    while (!isReady()) await turn()
    let ms = 0
    while (ran === undefined && ms < 20_000) {
      // Without timers, doctor waits for the machine only, which takes no fake time.
      if (vi.getTimerCount() > 0) {
        await vi.advanceTimersByTimeAsync(100)
        ms += 100
      }
      await turn()
    }
    return { ...(await ended), ms }
  }

  test.each(['http', 'https'])(
    'doctor ends within 5 s if the server accepts an %s connection and never responds',
    async (scheme) => {
      const { baseUrl, received } = await rawServer(() => {})
      const { exit, stdout, stderr, ms } = await timed(baseUrl.replace('http', scheme), () => received.length > 0)
      expect([exit, stderr]).toEqual([1, ''])
      expect(ms).toBeLessThan(5_000)
      expect(JSON.parse(stdout).checks.find((it: Check) => it.name === 'server').status).toBe('fail')
    },
  )

  test('doctor ends within 5 s if the server responds to the first request only', async () => {
    const { baseUrl, received } = await rawServer((socket, request) => {
      if (request.startsWith('GET /healthz')) socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
    })
    const { exit, ms } = await timed(baseUrl, () => received.length > 1)
    expect(exit).toBe(1)
    expect(ms).toBeLessThan(5_000)
  })

  test('a check of doctor that times out or lacks permission fails with a message', async () => {
    const late = await bounded(['disk', () => new Promise(() => {})], 1)
    expect(late).toMatchObject({ status: 'fail', message: 'No result within 0.001 s.' })
    const failing = (error: Error) => (): never => {
      throw error
    }
    const denied = Object.assign(new Error('denied'), { code: 'EACCES', syscall: 'stat' })
    const message = expect.stringContaining('EACCES')
    expect(await bounded(['disk', failing(denied)], 1_000)).toMatchObject({ status: 'fail', message })
    const bugs: unknown[] = []
    const bug = new Error('a bug with a secret')
    const failed = await bounded(['disk', failing(bug)], 1_000, (it) => bugs.push(it))
    expect(failed).toMatchObject({ status: 'fail', message: 'This check failed unexpectedly.' })
    expect(bugs).toEqual([bug])
  })
})
