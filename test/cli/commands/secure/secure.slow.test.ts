import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { paths } from '../../../../src/secure/index.js'
import { startServer } from '../../../../src/testing/index.js'
import { cli, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { homeWithProfiles, profileFile, storedProfiles } from '../../../support/cli/profiles.js'
import { type CliServer, cliServer } from '../../../support/cli/server.js'
import { closedPort } from '../../../support/closed-port.js'
import { recordingProxy } from '../../../support/conform/recording-proxy.js'
import { secureFaults } from '../../../support/secure/faults.js'

let server: CliServer
let code: string
beforeAll(async () => {
  server = await cliServer({ secure: 'required' })
  code = (await server.issue()).credential.value
})
afterAll(() => server.close())

const profileOf = (home: string) => storedProfiles(home).default
const withProfile = (profile: object) => homeWithProfiles({ default: profile })

const env = () => ({ VOUCHERCTL_TOKEN: server.token, VOUCHERCTL_BASE_URL: server.baseUrl })
const dispatched = [`GET ${paths.bootstrap}`, `POST ${paths.session}`, `POST ${paths.dispatch}`]

describe('--secure', () => {
  test('a command exits 10 on a server that requires encryption, unless with --secure required', async () => {
    const plain = await cli(`vouchers redeem --code ${code} --json`, { env: env() })
    expect([plain.exit, plain.stdout]).toEqual([10, ''])
    const { error } = JSON.parse(plain.stderr)
    expect(error).toMatchObject({ code: 'SECURE_TRANSPORT_REQUIRED', status: 426 })
    expect(error.hint).toContain('--secure required')
    const encrypted = await cli(`vouchers redeem --code ${code} --secure required --json --idempotency-key encrypted`, {
      env: env(),
    })
    expect([encrypted.exit, encrypted.stderr]).toEqual([0, ''])
    expect(JSON.parse(encrypted.stdout)).toMatchObject({ status: 'succeeded' })
  })

  test('mode and origin of encryption come from flag, environment or profile', async () => {
    const home = withProfile({ base_url: server.baseUrl, secure: { mode: 'auto', origin: 'https://profile.example' } })
    const show = async (args = '', more: Record<string, string> = {}) => {
      const ran = await cli(`profiles show --explain --json ${args}`, { home, env: more })
      const { items } = JSON.parse(ran.stdout) as { items: { setting: string; value: unknown; source: string }[] }
      return ['secure.mode', 'secure.origin'].flatMap((name) => {
        const { value, source } = items.find(({ setting }) => setting === name) ?? {}
        return [value, source]
      })
    }
    expect(await show()).toEqual(['auto', 'profile default', 'https://profile.example', 'profile default'])
    const variables = { VOUCHERCTL_SECURE: 'auto', VOUCHERCTL_ORIGIN: 'https://env.example' }
    expect(await show('', variables)).toEqual([
      'auto',
      'environment VOUCHERCTL_SECURE',
      'https://env.example',
      'environment VOUCHERCTL_ORIGIN',
    ])
    expect(await show('--secure off --origin https://flag.example', variables)).toEqual([
      'off',
      'flag --secure',
      'https://flag.example',
      'flag --origin',
    ])
  })

  test.each([
    ['', { VOUCHERCTL_SECURE: 'always' }, /secure.mode must be one of off, auto, required/],
    ['', { VOUCHERCTL_ORIGIN: 'shop.example' }, /secure.origin must be a full origin/],
    ['--secure always', {}, /--secure must be one of/],
    ['--origin https://shop.example/', {}, /--origin must be a full origin/],
    ['', {}, /secure.pins must be two pins at most/, { pins: ['sha256:short'] }],
    ['', {}, /secure.mode must be one of/, { mode: 'yes' }],
  ])(
    'templates list with an invalid encryption setting (%s %j) exits 2 and sends nothing',
    async (args, more, says, secure: object | undefined = {}) => {
      const proxy = await recordingProxy(server.baseUrl)
      const home = withProfile({ base_url: proxy.baseUrl, secure })
      const ran = await cli(`templates list ${args}`, { home, env: { VOUCHERCTL_TOKEN: server.token, ...more } })
      expect([ran.exit, ran.stdout]).toEqual([2, ''])
      expect(ran.stderr).toMatch(says)
      expect(proxy.requests).toEqual([])
    },
  )

  test('the origin of --origin is sent with the session and dispatch requests only', async () => {
    const proxy = await recordingProxy(server.baseUrl)
    const args = `templates list --json --secure required --origin https://shop.example --base-url ${proxy.baseUrl}`
    expect((await cli(args, { env: env() })).exit).toBe(0)
    expect(proxy.sent().match(/^origin: https:\/\/shop\.example\r$/gim)).toHaveLength(2)
  })

  test('--dry-run --secure required prints the request without secrets and sends nothing', async () => {
    const proxy = await recordingProxy(server.baseUrl)
    const args = `vouchers verify --code ${code} --dry-run --secure required --base-url ${proxy.baseUrl}`
    const shown = await cli(args, { env: env() })
    expect([shown.exit, shown.stderr]).toEqual([0, ''])
    expect(shown.stdout).toContain(`All of it encrypted; seen on the way: POST ${proxy.baseUrl}${paths.dispatch}`)
    const { requests } = JSON.parse((await cli(`${args} --json`, { env: env() })).stdout)
    expect(requests[0].secure).toEqual({
      mode: 'required',
      outer: `POST ${proxy.baseUrl}${paths.dispatch}`,
      origin: null,
    })
    expect(shown.stdout).not.toContain(server.token)
    expect(shown.stdout).not.toContain(code)
    expect(proxy.requests).toEqual([])
  })

  test('--debug prints the protocol requests and the encrypted request without secrets', async () => {
    const { stderr, exit } = await cli('templates list --json --secure required --debug', { env: env() })
    expect(exit).toBe(0)
    for (const path of Object.values(paths)) expect(stderr).toContain(`${server.baseUrl}${path}`)
    expect(stderr).toContain('debug: > encrypted: GET /api/v1/open-platform/vouchers/templates')
    expect(stderr).toContain(`debug: > encrypted: authorization: Bearer ${server.token.slice(0, 8)}…`)
    expect(stderr).not.toContain(server.token)
  })

  test('a command that sends several encrypted requests negotiates one session', async () => {
    const proxy = await recordingProxy(server.baseUrl)
    const more = { ...env(), VOUCHERCTL_JWT: server.jwt, VOUCHERCTL_BASE_URL: proxy.baseUrl }
    const ran = await cli('whoami --json --secure required', { env: more })
    expect(JSON.parse(ran.stdout).credentials).toMatchObject([{ accepted: true }, { accepted: true }])
    expect(proxy.requests).toEqual([...dispatched, `POST ${paths.dispatch}`])
    expect(proxy.sent()).not.toContain(server.jwt)
  })

  test('login --secure required never sends the credential unencrypted', async () => {
    const proxy = await recordingProxy(server.baseUrl)
    const home = temporaryDir()
    const given = { home, stdin: server.token }
    const args = `login --with-token - --secure required --base-url ${proxy.baseUrl}`
    expect((await cli(args, given)).exit).toBe(0)
    expect(proxy.requests).toEqual(dispatched)
    expect(proxy.sent()).not.toContain(server.token)
    const down = await recordingProxy(`http://127.0.0.1:${await closedPort()}`)
    const failed = await cli(`login --with-token - --secure required --retries 0 --base-url ${down.baseUrl}`, given)
    expect(failed.exit).toBe(9)
    expect(down.sent()).not.toContain(server.token)
  })

  test('bots updates --secure required refuses a --timeout above 10 s', async () => {
    const ran = await cli('bots updates --timeout 11s --secure required', { env: env() })
    expect([ran.exit, ran.stderr]).toEqual([2, expect.stringContaining('an encrypted poll')])
  })

  test('--secure required and auto exit 2 and send nothing if a request cannot be encrypted', async () => {
    for (const mode of ['required', 'auto']) {
      const proxy = await recordingProxy(server.baseUrl)
      const end = `--secure ${mode} --base-url ${proxy.baseUrl}`
      const umlaut = await cli(`vouchers redemption ä ${end}`, { env: env() })
      expect([umlaut.exit, umlaut.stderr]).toEqual([2, expect.stringContaining('SECURE_REQUEST_INVALID')])
      expect(proxy.requests).toEqual(mode === 'required' ? [] : dispatched.slice(0, 2))
      const large = ['vouchers', 'redeem', '--code', code, '--reference', 'x'.repeat(262_144), ...end.split(' ')]
      const ran = await cli(large, { env: env() })
      expect([ran.exit, ran.stderr]).toEqual([2, expect.stringContaining('SECURE_ENVELOPE_TOO_LARGE')])
      expect(proxy.requests).not.toContain(`POST ${paths.dispatch}`)
      expect(proxy.sent()).not.toContain('x'.repeat(20))
    }
  })
})

describe('downgrade protection', () => {
  test('an encrypted session or a 426 response turns on downgrade protection in the profile', async () => {
    for (const mode of ['off', 'auto', 'required']) {
      const home = withProfile({ base_url: server.baseUrl })
      await cli(`templates list --secure ${mode}`, { home, env: env() })
      expect(profileOf(home).secure).toEqual({ latched: [server.baseUrl] })
      await cli(`templates list --secure ${mode}`, { home, env: env() })
      expect(profileOf(home).secure).toEqual({ latched: [server.baseUrl] })
    }
  })

  test('--secure auto falls back to plain text unless the profile has downgrade protection', async () => {
    const off = await startServer({ secure: false })
    const home = withProfile({ base_url: off.baseUrl })
    const given = { home, env: { VOUCHERCTL_TOKEN: off.token } }
    expect((await cli('templates list --secure auto --json', given)).exit).toBe(0)
    expect((await cli('templates list --secure required --json', given)).exit).toBe(10)
    const latched = withProfile({ base_url: off.baseUrl, secure: { latched: [off.baseUrl] } })
    const proxy = await recordingProxy(off.baseUrl)
    const refused = await cli('templates list --secure auto --json', { ...given, home: latched })
    expect(refused.exit).toBe(10)
    expect(JSON.parse(refused.stderr).error.code).toBe('SECURE_TRANSPORT_DISABLED')
    expect(proxy.sent()).toBe('')
    await off.close()
  })
})

describe('--secure required through a faulty proxy', () => {
  const cases = secureFaults.map((fault) => [fault.at.split('/').at(-1) ?? '', fault.name, fault] as const)
  test.each(cases)(
    'vouchers redeem fails with the code and exit code of the fault if the %s request %s',
    async (_at, _name, fault) => {
      const proxy = await recordingProxy(server.baseUrl)
      proxy.meddle = (path) => (path === fault.at ? fault.how : 'pass')
      const timeout = fault.how === 'hang' ? '--timeout 300ms' : ''
      const args = `vouchers redeem --code ${code} --retries 0 --secure required ${timeout} --base-url ${proxy.baseUrl}`
      const told = await cli(args, { env: env(), newId: () => 'canary-key' })
      expect([told.exit, told.stdout]).toEqual([fault.exit, ''])
      expect(told.stderr).toMatch(fault.says)
      const { error } = JSON.parse((await cli(`${args} --json`, { env: env() })).stderr)
      expect(error.code).toBe(fault.code)
      expect(error.hint).toBeTruthy()
      const known = dispatched
      expect(proxy.requests.filter((it) => !known.includes(it))).toEqual([])
      for (const canary of [server.token, code, 'open-platform', 'canary-key'])
        expect(proxy.sent()).not.toContain(canary)
    },
  )

  test('a command with a wrong pin exits 10 after the bootstrap request and suggests secure pin', async () => {
    const proxy = await recordingProxy(server.baseUrl)
    const secure = { mode: 'required', pins: [`sha256:${'A'.repeat(43)}`] }
    const home = withProfile({ base_url: proxy.baseUrl, secure })
    const ran = await cli('templates list', { home, env: { VOUCHERCTL_TOKEN: server.token } })
    expect([ran.exit, ran.stdout]).toEqual([10, ''])
    expect(ran.stderr).toMatch(/none of the pinned ones.*\n.*\nhint: Nothing was sent\..*secure pin/)
    expect(proxy.requests).toEqual([`GET ${paths.bootstrap}`])
  })
})

describe('secure bootstrap, session, pin', () => {
  test('secure bootstrap prints the members of the response, the pin and the clock offset', async () => {
    const shown = JSON.parse((await cli('secure bootstrap --json', { env: env() })).stdout)
    const response = await (await fetch(server.baseUrl + paths.bootstrap)).text()
    const { serverTime: _now, ...fields } = JSON.parse(response)
    expect(shown).toMatchObject({ ...fields, pinned: null, pin: expect.stringMatching(/^sha256:.{43}$/) })
    expect(shown.clockOffsetMs).toBeTypeOf('number')
    expect(shown.pin.slice(7, 23)).toBe(shown.kid)
  })

  test('secure bootstrap reports disabled encryption, and secure session and pin exit 10', async () => {
    const off = await startServer({ secure: false })
    const given = { env: { VOUCHERCTL_BASE_URL: off.baseUrl } }
    expect(JSON.parse((await cli('secure bootstrap --json', given)).stdout)).toEqual({ enabled: false })
    for (const command of ['session', 'pin', 'pin --save']) {
      expect((await cli(`secure ${command}`, given)).exit).toBe(10)
    }
    await off.close()
  })

  test('secure session prints the session id, brand, origin and expiry, but no key or salt', async () => {
    const home = withProfile({ base_url: server.baseUrl })
    const ran = await cli('secure session --origin https://shop.example --json', { home, env: env() })
    const data = JSON.parse(ran.stdout)
    expect(data).toEqual({
      sid: expect.stringMatching(/^ss_[\w-]{22}$/),
      brand: 'platform',
      origin: 'https://shop.example',
      kid: expect.any(String),
      expiresAt: expect.any(Number),
      expiresInSeconds: expect.any(Number),
      saltBytes: 32,
    })
    expect(data.expiresInSeconds).toBeGreaterThan(590)
    expect(profileOf(home).secure.latched).toEqual([server.baseUrl])
  })

  test('secure pin --save stores at most two pins and reports the old pin that it replaces', async () => {
    const [first, second] = [`sha256:${'A'.repeat(43)}`, `sha256:${'A'.repeat(42)}E`]
    const home = withProfile({ base_url: server.baseUrl, secure: { pins: [first] } })
    const given = { home, env: env() }
    const shown = JSON.parse((await cli('secure pin --json', given)).stdout)
    expect(shown).toMatchObject({ pins: [first], pinned: false, saved: false })
    expect(profileOf(home).secure.pins).toEqual([first])
    const saved = await cli('secure pin --save --json', given)
    expect([saved.exit, saved.stderr]).toEqual([0, ''])
    expect(profileOf(home).secure.pins).toEqual([first, shown.pin])
    expect((await cli('templates list --secure required', given)).exit).toBe(0)
    await cli('secure pin --save', given)
    expect(profileOf(home).secure.pins).toEqual([first, shown.pin])

    writeFileSync(
      profileFile(home),
      JSON.stringify({ current: 'default', profiles: { default: { secure: { pins: [first, second] } } } }),
      { mode: 0o600 },
    )
    const replaced = await cli('secure pin --save', given)
    expect(replaced.stderr).toContain(`it replaces the oldest pin, ${first}`)
    expect(profileOf(home).secure.pins).toEqual([second, shown.pin])
  })

  test('profiles set stores encryption mode, origin and pins, and --unset removes each of them', async () => {
    const home = temporaryDir()
    const pin = `sha256:${'A'.repeat(43)}`
    const set = (args: string) => cli(`profiles set ${args}`, { home })
    expect((await set(`--secure required --origin https://shop.example --pin ${pin}`)).exit).toBe(0)
    expect(profileOf(home).secure).toEqual({ mode: 'required', origin: 'https://shop.example', pins: [pin] })
    for (const name of ['mode', 'origin']) await set(`--unset secure.${name}`)
    expect(profileOf(home).secure).toEqual({ pins: [pin] })
    await set('--unset secure.pins')
    expect(profileOf(home).secure).toBeUndefined()
    expect((await set('--pin sha256:short')).exit).toBe(2)
    expect((await set(`--pin ${pin} --pin ${pin} --pin ${pin}`)).exit).toBe(2)
  })
})

describe('secure call', () => {
  const list = 'secure call GET /api/v1/open-platform/vouchers/templates'

  test('secure call encrypts its request even with --secure off and prints the response data', async () => {
    const proxy = await recordingProxy(server.baseUrl)
    const more = { ...env(), VOUCHERCTL_BASE_URL: proxy.baseUrl, VOUCHERCTL_JWT: server.jwt }
    const templates = await cli(`${list} --query limit=1 --secure off --json`, { env: more })
    expect(JSON.parse(templates.stdout)).toMatchObject({ pagination: { limit: 1 } })
    const apps = await cli('secure call get /api/v1/open-platform/applications --json', { env: more })
    expect(JSON.parse(apps.stdout).items[0].id).toBe('app_shop')
    expect(proxy.requests).toEqual([...dispatched, ...dispatched])
    const sent = proxy.sent()
    for (const secret of [server.token, server.jwt, 'open-platform']) expect(sent).not.toContain(secret)
  })

  test.each([
    '/open-platform/vouchers/templates?limit=1',
    'open-platform/vouchers/templates --query limit=1',
    '/api/v1/open-platform/vouchers/templates?limit=1',
  ])('secure call takes the path %s as api does', async (path) => {
    const [ran, plain] = [
      await cli(`secure call GET ${path} --json`, { env: env() }),
      await cli(`api GET ${path.replace(' --query ', '?')} --secure required`, { env: env() }),
    ]
    expect([ran.exit, ran.stderr]).toEqual([0, ''])
    expect(JSON.parse(ran.stdout)).toEqual(JSON.parse(plain.stdout))
    expect(JSON.parse(ran.stdout).pagination.limit).toBe(1)
  })

  test('secure call reads the body from stdin and sends the value of --idempotency-key', async () => {
    const { credential } = await server.issue()
    const redeem = 'secure call POST /api/v1/open-platform/vouchers/redeem --body - --json'
    const given = { env: env(), stdin: JSON.stringify({ credential }) }
    const first = await cli(`${redeem} --idempotency-key mine`, given)
    expect([first.exit, first.stderr]).toEqual([0, ''])
    const again = await cli(`${redeem} --idempotency-key mine`, given)
    expect(JSON.parse(again.stdout).id).toBe(JSON.parse(first.stdout).id)
    const other = await cli(`${redeem} --idempotency-key another`, given)
    expect([other.exit, JSON.parse(other.stderr).error.code]).toEqual([6, 'VOUCHER_ALREADY_REDEEMED'])
  })

  test('secure call with an unknown path requires --as', async () => {
    const unknown = 'secure call GET /api/v1/nothing/here'
    expect((await cli(unknown, { env: env() })).exit).toBe(2)
    const ran = await cli(`${unknown} --as token --json`, { env: env() })
    expect([ran.exit, JSON.parse(ran.stderr).error.status]).toEqual([5, 404])
  })

  test.each([
    ['secure call', 3, 'METHOD, PATH'],
    ['secure call GET', 3, 'PATH'],
    ['secure call HEAD /api/v1/x', 2, 'METHOD'],
    ['secure call GET http://127.0.0.1:1/api/v1/x', 2, '--base-url'],
    ['secure call GET /api/v1/secure/bootstrap', 2, 'PATH'],
    ['secure call GET /_platform/v1/reviews', 2, 'PATH'],
    ['secure call GET /api/v1/x /api/v1/y', 2, 'argument'],
    ['secure call POST /api/v1/open-platform/vouchers/verify --body nowhere.json', 2, 'nowhere.json'],
  ])('the command %s exits %i with a message that contains %s', async (args, exit, says) => {
    const ran = await cli(args, { env: env() })
    expect([ran.exit, ran.stdout]).toEqual([exit, ''])
    expect(ran.stderr).toContain(says)
  })

  test('secure call --dry-run prints the request without secrets', async () => {
    const given = { env: env(), stdin: JSON.stringify({ credential: { type: 'redeem_code', value: code } }) }
    const ran = await cli('secure call POST /api/v1/open-platform/vouchers/verify --body - --dry-run', given)
    expect(ran.stdout).toContain('All of it encrypted')
    expect(ran.stdout).not.toContain(server.token)
    expect(ran.stdout).not.toContain(code)
  })
})

describe('secure check', () => {
  const steps = [
    'bootstrap',
    'key',
    'clock',
    'session',
    'ECDH and HKDF',
    'dispatch',
    'a replay is refused',
    'a changed tag is refused',
    'another origin is refused',
    'decryption',
  ]

  test('secure check passes every step against a correct server and prints no secret', async () => {
    const ran = await cli('secure check --json', { env: env() })
    expect([ran.exit, ran.stderr]).toEqual([0, ''])
    const data = JSON.parse(ran.stdout)
    expect(data).toMatchObject({ ok: true, base_url: server.baseUrl })
    expect(data.steps.map((it: { step: string }) => it.step)).toEqual(steps)
    for (const it of data.steps) expect(it).toMatchObject({ ok: true, code: null, ms: expect.any(Number) })
    expect(data.steps.at(-1).result).toContain('status 200')
    expect(ran.stdout).not.toContain(server.token)
    expect((await cli('secure check', { env: env() })).stdout).toContain('all 10 steps passed')
  })

  test('secure check passes without a credential and reports the encrypted 401 response', async () => {
    const { exit, stdout } = await cli('secure check --json', { env: { VOUCHERCTL_BASE_URL: server.baseUrl } })
    expect(exit).toBe(0)
    const { steps: walked } = JSON.parse(stdout)
    expect(walked[5].result).toContain('no credential is there')
    expect(walked[9].result).toContain('status 401 TOKEN_MISSING')
  })

  test('secure check sends an account JWT, an application token or the content of a token file', async () => {
    for (const [args, more, words] of [
      ['', { VOUCHERCTL_JWT: server.jwt }, 'with the account JWT'],
      ['--as token', { VOUCHERCTL_TOKEN: server.token }, 'with the application token'],
    ] as const) {
      const ran = await cli(`secure check --json ${args}`, { env: { VOUCHERCTL_BASE_URL: server.baseUrl, ...more } })
      const { steps: walked } = JSON.parse(ran.stdout)
      expect([walked[5].result, walked[9].result]).toEqual([
        expect.stringContaining(words),
        expect.stringContaining('status 200'),
      ])
    }
    const file = await cli(`secure check --json --token-file - --base-url ${server.baseUrl}`, { stdin: server.jwt })
    expect(JSON.parse(file.stdout).steps[9].result).toContain('status 200')
    const missing = await cli(`secure check --as jwt --base-url ${server.baseUrl}`)
    expect(missing.exit).toBe(3)
  })

  const accepting = { status: 200, body: '{}' }
  test.each([
    ['bootstrap', paths.bootstrap, 1, { status: 404, body: '' }, 'SECURE_ANSWER_REFUSED'],
    [
      'session',
      paths.session,
      1,
      { status: 403, body: '{"code":"SECURE_ORIGIN_NOT_ALLOWED"}' },
      'SECURE_ORIGIN_NOT_ALLOWED',
    ],
    ['ECDH and HKDF', paths.session, 1, { status: 200, body: '{}' }, 'SECURE_SESSION_INVALID'],
    ['dispatch', paths.dispatch, 1, { status: 400, body: '{"code":"DECRYPTION_FAILED"}' }, 'DECRYPTION_FAILED'],
    ['a replay is refused', paths.dispatch, 2, accepting, 'NOT_REFUSED'],
    ['a changed tag is refused', paths.dispatch, 3, accepting, 'NOT_REFUSED'],
    ['another origin is refused', paths.dispatch, 4, accepting, 'NOT_REFUSED'],
    ['decryption', paths.dispatch, 1, (body: string) => body.replace('"iv":"', '"iv":"A'), 'SECURE_ANSWER_INVALID'],
  ] as const)('secure check exits 10 if its step "%s" fails', async (step, at, count, how, failure) => {
    const proxy = await recordingProxy(server.baseUrl)
    let seen = 0
    proxy.meddle = (path) => {
      if (path === at) seen += 1
      return path === at && seen === count ? how : 'pass'
    }
    const ran = await cli(`secure check --json --base-url ${proxy.baseUrl}`, {
      env: { VOUCHERCTL_TOKEN: server.token },
    })
    expect([ran.exit, ran.stderr]).toEqual([10, ''])
    const { ok, steps: walked } = JSON.parse(ran.stdout)
    expect(ok).toBe(false)
    expect(walked.filter((it: { ok: boolean }) => !it.ok)).toMatchObject([{ step, code: failure }])
  })

  test.each([
    [paths.bootstrap, { status: 503, body: '{"success":false,"code":"SERVICE_UNAVAILABLE"}' }, 9],
    [paths.session, { status: 503, body: '' }, 9],
    [paths.dispatch, { status: 500, body: '' }, 9],
    [paths.session, { status: 429, body: '' }, 7],
  ] as const)('secure check with %s returning %j is inconclusive and exits %i', async (at, how, exit) => {
    const proxy = await recordingProxy(server.baseUrl)
    proxy.meddle = (path) => (path === at ? how : 'pass')
    const ran = await cli(`secure check --json --base-url ${proxy.baseUrl}`, {
      env: { VOUCHERCTL_TOKEN: server.token },
    })
    expect([ran.exit, JSON.parse(ran.stdout).ok]).toEqual([exit, false])
  })

  test('secure check exits 10 for a server key without a pin and 9 for an unreachable server', async () => {
    const home = withProfile({ base_url: server.baseUrl, secure: { pins: [`sha256:${'A'.repeat(43)}`] } })
    const ran = await cli('secure check --json', { home })
    expect(ran.exit).toBe(10)
    expect(JSON.parse(ran.stdout).steps.at(-1)).toMatchObject({ step: 'key', code: 'SECURE_PIN_MISMATCH' })
    const away = await cli(`secure check --json --base-url http://127.0.0.1:${await closedPort()}`)
    expect(away.exit).toBe(9)
    expect(JSON.parse(away.stdout).steps).toMatchObject([{ step: 'bootstrap', ok: false, code: 'SECURE_NO_ANSWER' }])
  })
})

test('a command exits 10 for a malformed bootstrap response and sends no credential', async () => {
  const { baseUrl, received } = await stub(() => success({ enabled: 'maybe' }))
  const ran = await cli('templates list --secure required', { env: { ...env(), VOUCHERCTL_BASE_URL: baseUrl } })
  expect(ran.exit).toBe(10)
  expect(received.map(({ path, headers }) => [path, headers.authorization])).toEqual([[paths.bootstrap, undefined]])
})
