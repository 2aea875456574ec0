import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CHALLENGE_HEADER, proofOf } from '../../../../src/files/server-proof.js'
import { cli, refusal, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { homeWithProfiles } from '../../../support/cli/profiles.js'
import { app, pageOf, token } from '../../../support/cli/samples.js'

const stored = (home: string) => JSON.parse(readFileSync(join(home, '.config', 'voucherctl', 'config.json'), 'utf8'))
const jwt = secrets.VOUCHERCTL_JWT
const { VOUCHERCTL_TOKEN: sop, VOUCHERCTL_OPERATOR_KEY: operatorKey } = secrets

const INSTANCE = 'instance-of-the-test'

/** Key in the server.json of the tests, which only the server that wrote it has. */
const KEY = 'key-of-the-test'

/** A stub that proves the key for health requests, which it leaves out of `received`. @param key that it has */
async function localStub(respond: Parameters<typeof stub>[0], key = KEY) {
  const { baseUrl, received } = await stub((request, index) =>
    request.path === '/healthz'
      ? success({ instanceId: INSTANCE, proof: proofOf(key, String(request.headers[CHALLENGE_HEADER])) })
      : respond(request, index),
  )
  return {
    baseUrl,
    get received() {
      return received.filter((it) => it.path !== '/healthz')
    },
  }
}

/** Writes a data folder that records this process as a running server at this URL. */
function runningServer(dir: string, baseUrl: string, more: Record<string, unknown> = {}): void {
  mkdirSync(dir, { recursive: true })
  const keyFile = join(dir, 'operator.key')
  writeFileSync(keyFile, `${operatorKey}\n`)
  const server = {
    instance_id: INSTANCE,
    proof_key: KEY,
    pid: process.pid,
    base_url: baseUrl,
    data_dir: dir,
    operator_key_file: keyFile,
    store: 'sqlite',
    started_at: '2026-11-21T10:00:00.000Z',
    ...more,
  }
  writeFileSync(join(dir, 'server.json'), JSON.stringify(server))
}

const defaultFolder = (home: string) => join(home, '.local', 'share', 'voucherctl')

test('login --local gets an account JWT with the operator key and stores it for the local server', async () => {
  const home = temporaryDir()
  const local = await localStub(() => success({ jwt, expires_at: '2033-05-18T03:33:20.000Z' }))
  runningServer(defaultFolder(home), local.baseUrl)
  const ran = await cli('login --local --account demo --json', { home })
  expect(ran.exit).toBe(0)
  expect(local.received[0]).toMatchObject({
    path: '/_platform/v1/accounts/demo/token',
    headers: { authorization: `Bearer ${operatorKey}` },
  })
  expect(JSON.parse(ran.stdout)).toMatchObject({
    profile: 'default',
    base_url: local.baseUrl,
    kind: 'jwt',
    account: 'demo',
  })
  expect(stored(home).profiles.default).toEqual({
    base_url: local.baseUrl,
    account: 'demo',
    credentials: { jwt: { value: jwt, origin: local.baseUrl } },
  })
  expect(ran.stdout + ran.stderr).not.toContain('CANARY')
})

test('login --local without a server exits 9 and says how to start one', async () => {
  const { exit, stderr } = await cli('login --local --account demo')
  expect(exit).toBe(9)
  expect(stderr).toContain('voucherctl server start')
})

test('login --local and server status ignore a server whose process has ended', async () => {
  const home = temporaryDir()
  runningServer(defaultFolder(home), 'http://127.0.0.1:1')
  const path = join(defaultFolder(home), 'server.json')
  // The id of an ended process; the system does not reuse it during this test.
  const { spawnSync } = await import('node:child_process')
  const { pid } = spawnSync(process.execPath, ['-e', '0'])
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), pid }))
  expect((await cli('login --local --account demo', { home })).exit).toBe(9)
  expect((await cli('server status --json', { home })).exit).toBe(1)
})

test('login --local --data stores the data folder, where platform commands find the operator key', async () => {
  const home = temporaryDir()
  const dir = temporaryDir()
  const local = await localStub(({ path }) =>
    success(path.includes('accounts') ? { jwt, expires_at: '' } : { items: [] }),
  )
  runningServer(dir, local.baseUrl)
  const { stderr } = await cli(['login', '--local', '--account', 'demo', '--data', dir], { home })
  expect(stderr).toMatch(/stored in plain text.*config\.json/)
  expect((await cli('platform reviews', { home })).exit).toBe(0)
  expect(local.received[1]?.headers.authorization).toBe(`Bearer ${operatorKey}`)
})

test('a platform command with --base-url does not send the operator key of the local server', async () => {
  const home = temporaryDir()
  const local = await localStub(() => success({ items: [] }))
  const other = await stub(() => success({ items: [] }))
  runningServer(defaultFolder(home), local.baseUrl)
  expect((await cli('platform reviews', { home })).exit).toBe(0)
  expect((await cli(`platform reviews --base-url ${other.baseUrl}`, { home })).exit).toBe(3)
  expect(other.received).toEqual([])
})

test('the operator key is not sent to a foreign server at the address of the local server', {
  tags: 'local-server/5',
}, async () => {
  const home = temporaryDir()
  const impostor = await localStub(() => success({ items: [] }), 'another')
  runningServer(defaultFolder(home), impostor.baseUrl)
  expect((await cli('server status --json', { home })).exit).toBe(1)
  expect((await cli('login --local --account demo', { home })).exit).toBe(9)
  expect((await cli('platform reviews', { home })).exit).toBe(3)
  expect(impostor.received).toEqual([])
})

test('no credential goes to a foreign server at the local address', { tags: 'local-server/5' }, async () => {
  const home = temporaryDir()
  const impostor = await localStub(() => success(pageOf()), 'another')
  runningServer(defaultFolder(home), impostor.baseUrl)
  for (const command of ['apps list', 'whoami', 'templates list', 'login --with-token -']) {
    const ran = await cli(`${command} --json`, { home, env: secrets, stdin: sop })
    expect([command, ran.exit, JSON.parse(ran.stderr).error.code]).toEqual([command, 9, 'LOCAL_SERVER_NOT_RUNNING'])
  }
  const bound = homeWithProfiles({ default: { base_url: impostor.baseUrl, store: 'str_1' } })
  expect((await cli('templates list', { home: bound, env: secrets })).exit).toBe(9)
  const logs = await cli('server logs', { home })
  expect([logs.exit, logs.stderr]).toEqual([9, expect.stringContaining('No server runs')])
  expect(impostor.received).toEqual([])
})

test('a command demands a proof of the key if the process start is unknown', { tags: 'local-server/5' }, async () => {
  const home = temporaryDir()
  const local = await localStub(() => success(pageOf(app)))
  runningServer(defaultFolder(home), local.baseUrl)
  expect((await cli('apps list', { home, env: secrets })).exit).toBe(0)
  expect(local.received).toHaveLength(1)
  // Without a key, as in the server.json of an earlier version, the instance id proves nothing.
  runningServer(defaultFolder(home), local.baseUrl, { proof_key: undefined })
  expect((await cli('apps list', { home, env: secrets })).exit).toBe(9)
  expect(local.received).toHaveLength(1)
})

test('a login binds the profile to its store until the base URL changes', { tags: 'local-server/4' }, async () => {
  const home = temporaryDir()
  const respond = () => success({ ...pageOf(app), jwt, expires_at: '' })
  const [first, second] = [await localStub(respond), await localStub(respond)]
  runningServer(defaultFolder(home), first.baseUrl, { store_id: 'str_1' })
  await cli('login --local --account demo', { home })
  expect(stored(home).profiles.default).toMatchObject({ store: 'str_1', credentials: { jwt: { store: 'str_1' } } })
  runningServer(defaultFolder(home), second.baseUrl, { store_id: 'str_1' })
  expect((await cli('apps list', { home })).exit).toBe(0)
  expect(second.received).toMatchObject([{ headers: { authorization: `Bearer ${jwt}` } }])
  await cli('profiles set --base-url http://127.0.0.1:1', { home })
  expect(stored(home).profiles.default).not.toHaveProperty('store')
})

test('a credential of an older version is bound to a store by first use', { tags: 'local-server/6' }, async () => {
  const local = await localStub(() => success(pageOf(app)))
  const credentials = { jwt: { value: jwt, origin: local.baseUrl } }
  const home = homeWithProfiles({ default: { base_url: local.baseUrl, credentials } })
  mkdirSync(defaultFolder(home), { recursive: true })
  writeFileSync(join(defaultFolder(home), 'keys.json'), '{}')
  expect((await cli('apps list', { home })).exit).toBe(9)
  expect((await cli(`apps list --base-url ${local.baseUrl}`, { home })).exit).toBe(0)
  runningServer(defaultFolder(home), local.baseUrl, { store_id: 'str_1' })
  await cli('apps list', { home })
  expect(stored(home).profiles.default).toMatchObject({ store: 'str_1', credentials: { jwt: { store: 'str_1' } } })
})

test('proofOf() returns the HMAC-SHA256 of the challenge', { tags: 'local-server/5' }, () => {
  expect(proofOf('key', 'challenge')).toBe('_pSWP7rGsIbPhx1COvS7X3o9wOYdN-THjRIqbMdRs-g')
})

test.runIf(existsSync('/proc/self/stat'))('a reused process id is detected', { tags: 'local-server/5' }, async () => {
  const home = temporaryDir()
  const { baseUrl, received } = await stub(() => success(pageOf(app)))
  const list = () => cli('apps list --json', { home, env: secrets })
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  const ticks = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')[19]
  runningServer(defaultFolder(home), baseUrl, { process_start: `${boot} ${ticks}` })
  expect((await list()).exit).toBe(0)
  expect(received.map(({ path }) => path)).toEqual(['/api/v1/open-platform/applications'])
  for (const start of [`${boot} ${Number(ticks) - 1}`, `another-boot ${ticks}`]) {
    runningServer(defaultFolder(home), baseUrl, { process_start: start })
    expect(JSON.parse((await list()).stderr).error.code).toBe('BASE_URL_REQUIRED')
  }
  expect(received).toHaveLength(1)
})

test('server stop does not end a process that is not the server of the data folder', async () => {
  const home = temporaryDir()
  const impostor = await localStub(() => success({}), 'another')
  const { spawn } = await import('node:child_process')
  const bystander = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: 'pipe' })
  try {
    runningServer(defaultFolder(home), impostor.baseUrl)
    const path = join(defaultFolder(home), 'server.json')
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), pid: bystander.pid }))
    const ran = await cli('server stop --json', { home })
    expect([ran.exit, JSON.parse(ran.stderr).error.code]).toEqual([1, 'SERVER_STOP_FAILED'])
    expect([bystander.exitCode, bystander.signalCode, bystander.killed]).toEqual([null, null, false])
  } finally {
    bystander.kill()
  }
})

test.each([
  ['token', sop, '/api/v1/open-platform/vouchers/templates?limit=1'],
  ['jwt', jwt, '/api/v1/open-platform/applications?limit=1'],
  ['operator', operatorKey, '/_platform/v1/reviews'],
])(
  'login --with-token - detects a credential of the kind %s, verifies it and stores it',
  async (kind, secret, path) => {
    const home = temporaryDir()
    const { baseUrl, received } = await stub(() => success(pageOf()))
    const ran = await cli(`login --with-token - --base-url ${baseUrl}`, { home, stdin: `${secret}\n` })
    expect(ran.exit).toBe(0)
    expect(received[0]).toMatchObject({ path, headers: { authorization: `Bearer ${secret}` } })
    expect(stored(home).profiles.default.credentials).toEqual({ [kind]: { value: secret, origin: baseUrl } })
    expect(ran.stdout + ran.stderr).not.toContain('CANARY')
  },
)

test('login stores a token that lacks the scope of the API call that verifies it', async () => {
  const home = temporaryDir()
  const { baseUrl } = await stub(() => refusal(403, 'INSUFFICIENT_SCOPE'))
  expect((await cli(`login --with-token - --base-url ${baseUrl}`, { home, stdin: sop })).exit).toBe(0)
  expect(stored(home).profiles.default.credentials.token.value).toBe(sop)
})

test('login does not store a credential that the server refuses', async () => {
  const home = temporaryDir()
  const { baseUrl } = await stub(() => refusal(401, 'TOKEN_INVALID'))
  expect((await cli(`login --with-token - --base-url ${baseUrl}`, { home, stdin: sop })).exit).toBe(4)
  expect(() => stored(home)).toThrow()
})

test('login refuses a credential of unknown kind without sending or printing it', async () => {
  const { baseUrl, received } = await stub(() => success(pageOf()))
  const ran = await cli(`login --with-token - --base-url ${baseUrl}`, { stdin: 'hunter2hunter2' })
  expect([ran.exit, received.length]).toEqual([2, 0])
  expect(ran.stderr).not.toContain('hunter2')
})

test('login prompts for a credential with hidden input and exits 3 without a terminal', async () => {
  const home = temporaryDir()
  const { baseUrl } = await stub(() => success(pageOf()))
  const ran = await cli(`login --base-url ${baseUrl}`, { home, terminal: true, replies: [sop] })
  expect(ran.exit).toBe(0)
  expect(ran.asked[0]).toContain('hidden')
  const refused = await cli(`login --base-url ${baseUrl}`)
  expect(refused.exit).toBe(3)
  expect(refused.stderr).toContain('--with-token')
})

test('tokens create --save stores the token in the profile for later commands', async () => {
  const home = temporaryDir()
  const local = await localStub(({ method, path }) => {
    if (path.startsWith('/_platform')) return success({ jwt, expires_at: '' })
    if (path.endsWith('/tokens')) return success({ ...token, token: sop }, 201)
    return success(method === 'POST' ? app : pageOf(app))
  })
  runningServer(defaultFolder(home), local.baseUrl)
  await cli('login --local --account demo', { home })
  const created = await cli('tokens create --app app_01 --scope vouchers:read --save', { home })
  expect(created.exit).toBe(0)
  expect(created.stdout + created.stderr).not.toContain(sop)
  await cli('templates list', { home })
  expect(local.received.at(-1)).toMatchObject({
    path: '/api/v1/open-platform/vouchers/templates',
    headers: { authorization: `Bearer ${sop}` },
  })
  await cli('apps list', { home })
  expect(local.received.at(-1)?.headers.authorization).toBe(`Bearer ${jwt}`)
})

test('tokens create without --save prints the token and warns that it is not shown again', async () => {
  const { baseUrl } = await stub(() => success({ ...token, token: 'sop_new' }))
  const { stdout } = await cli(`tokens create --app app_01 --scope vouchers:read --base-url ${baseUrl}`, {
    env: secrets,
  })
  expect(stdout).toContain('sop_new')
  expect(stdout).toContain('not shown again')
})

test('whoami exits 4 if the server accepts no credential and 3 if no credential is configured', async () => {
  const { baseUrl } = await stub(() => refusal(401, 'TOKEN_INVALID'))
  expect((await cli(`whoami --json --base-url ${baseUrl}`, { env: secrets })).exit).toBe(4)
  expect((await cli(`whoami --json --base-url ${baseUrl}`)).exit).toBe(3)
})

test('logout removes the credentials from the profile and keeps its other settings', async () => {
  const home = temporaryDir()
  const { baseUrl } = await stub(() => success(pageOf()))
  await cli(`login --with-token - --base-url ${baseUrl}`, { home, stdin: sop })
  const out = await cli('logout --json --yes', { home })
  expect(JSON.parse(out.stdout)).toEqual({ profile: 'default', removed: ['token'] })
  expect(stored(home).profiles.default).toEqual({ base_url: baseUrl })
  expect(JSON.parse((await cli('logout --json', { home })).stdout).removed).toEqual([])
})

test('profiles show and list print no more than the prefix of a credential', async () => {
  const home = temporaryDir()
  const { baseUrl } = await stub(() => success(pageOf()))
  await cli(`login --with-token - --base-url ${baseUrl}`, { home, stdin: jwt })
  await cli(`login --with-token - --base-url ${baseUrl}`, { home, stdin: sop })
  for (const args of ['show', 'show --explain', 'list', 'show --json', 'list -o yaml', 'list -o csv']) {
    const { stdout, stderr } = await cli(`profiles ${args}`, { home })
    expect(stdout + stderr).not.toMatch(/CANARY/)
  }
})

test.each(['', '--json', '-o yaml', '-o csv'])('tokens create --save %s does not show the token', async (format) => {
  const { baseUrl } = await stub(() => success({ ...token, token: sop }, 201))
  const args = `tokens create --app app_01 --scope vouchers:read --save --base-url ${baseUrl} ${format}`
  const ran = await cli(args, { env: secrets })
  expect(ran.exit).toBe(0)
  expect(ran.stdout + ran.stderr).not.toContain(sop)
})

test('tokens create --save creates no token if the profile file cannot be written', async () => {
  const { baseUrl, received } = await stub(() => success({ ...token, token: sop }, 201))
  const notAFolder = join(temporaryDir(), 'file')
  writeFileSync(notAFolder, '')
  const ran = await cli(`tokens create --app app_01 --scope vouchers:read --save --base-url ${baseUrl}`, {
    env: { ...secrets, VOUCHERCTL_CONFIG_DIR: notAFolder },
  })
  expect([ran.exit, received]).toEqual([1, []])
})

test('tokens create --save prints the id of a token that it could not store, for revocation', async () => {
  const dir = temporaryDir()
  const { baseUrl } = await stub(() => {
    writeFileSync(join(dir, 'config.json'), '[]')
    return success({ ...token, token: sop }, 201)
  })
  const ran = await cli(`tokens create --app app_01 --scope vouchers:read --save --json --base-url ${baseUrl}`, {
    env: { ...secrets, VOUCHERCTL_CONFIG_DIR: dir },
  })
  const { error } = JSON.parse(ran.stderr.slice(ran.stderr.indexOf('{')))
  expect([error.details.token_id, error.hint]).toEqual(['tok_01', expect.stringContaining('tokens revoke tok_01')])
})

test('login reads the credential from --token-file and refuses --token-file with --with-token', async () => {
  const home = temporaryDir()
  const { baseUrl } = await stub(() => success(pageOf()))
  expect((await cli(`login --token-file - --base-url ${baseUrl}`, { home, stdin: sop })).exit).toBe(0)
  expect(stored(home).profiles.default.credentials.token.value).toBe(sop)
  expect((await cli(`login --token-file a --with-token b --base-url ${baseUrl}`, { home })).exit).toBe(2)
})

test('whoami prints the prefix and source of every credential and whether it is accepted', async () => {
  const { baseUrl, received } = await stub(({ path }) =>
    path.includes('getWebhookInfo') ? refusal(401, 'TOKEN_INVALID') : success(pageOf()),
  )
  const ran = await cli(`whoami --base-url ${baseUrl}`, { env: secrets })
  expect(ran.exit).toBe(4)
  expect(received).toHaveLength(4)
  for (const line of [
    'account JWT: eyJ…, account demo, accepted, until 2033-05-18 03:33:20Z, from environment VOUCHERCTL_JWT',
    'application token: sop_CANA…, accepted, from environment VOUCHERCTL_TOKEN',
    'bot token: sbot_CAN…, refused (TOKEN_INVALID), from environment VOUCHERCTL_BOT_TOKEN',
    'operator key: opk_…, accepted, from environment VOUCHERCTL_OPERATOR_KEY',
  ]) {
    expect(ran.stdout.split('\n')).toContain(line)
  }
  const json = await cli(`whoami --json --base-url ${baseUrl}`, { env: secrets })
  expect(JSON.parse(json.stdout).credentials).toMatchObject([
    { kind: 'jwt', account: 'demo', accepted: true, source: 'environment VOUCHERCTL_JWT' },
    { kind: 'token', credential: 'sop_CANA…', accepted: true },
    { kind: 'bot', credential: 'sbot_CAN…', accepted: false, code: 'TOKEN_INVALID' },
    { kind: 'operator', credential: 'opk_…', accepted: true },
  ])
  expect(ran.stdout + json.stdout).not.toContain('CANARY')
  const planned = await cli(`whoami --dry-run --json --base-url ${baseUrl}`, { env: secrets })
  expect([JSON.parse(planned.stdout).requests.length, received.length]).toEqual([4, 8])
})
