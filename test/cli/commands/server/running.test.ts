import { chmodSync, copyFileSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CHALLENGE_HEADER, proofOf } from '../../../../src/files/server-proof.js'
import { registerServer } from '../../../../src/server/place.js'
import { cli, refusal, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { homeWithProfiles } from '../../../support/cli/profiles.js'
import { pageOf } from '../../../support/cli/samples.js'
import { closedPort } from '../../../support/closed-port.js'

const INSTANCE = 'instance-of-the-test'

const KEY = 'key-of-the-test'

/** Starts a stub that responds to health requests as the registered server does. */
const localStub = (respond: Parameters<typeof stub>[0] = () => success(pageOf())) =>
  stub((request, index) =>
    request.path === '/healthz'
      ? success({ instanceId: INSTANCE, proof: proofOf(KEY, String(request.headers[CHALLENGE_HEADER])) })
      : respond(request, index),
  )

/** Registers this process as a running server, as `server start` does. */
function register(home: string, baseUrl: string, more: Record<string, unknown> = {}) {
  const dir = temporaryDir()
  const registry = join(home, '.local', 'state', 'voucherctl', 'servers')
  mkdirSync(registry, { recursive: true, mode: 0o700 })
  const keyFile = join(dir, 'operator.key')
  writeFileSync(keyFile, `${secrets.VOUCHERCTL_OPERATOR_KEY}\n`)
  const server = {
    instance_id: INSTANCE,
    proof_key: KEY,
    pid: process.pid,
    base_url: baseUrl,
    data_dir: dir,
    operator_key_file: keyFile,
    store: 'memory',
    started_at: '2026-11-21T10:00:00.000Z',
    ...more,
  }
  const file = join(registry, `${server.instance_id}.json`)
  writeFileSync(file, JSON.stringify(server))
  return { dir, registry, file }
}

const storeProfile = (home: string, profile: object) => homeWithProfiles({ default: profile }, home)

const errorOf = (stderr: string) => (JSON.parse(stderr) as { error: { code: string; hint: string } }).error

describe('server list', () => {
  test('server list shows running servers and removes files of killed ones', { tags: 'local-server/3' }, async () => {
    const home = temporaryDir()
    const { baseUrl } = await localStub()
    const { dir } = register(home, baseUrl)
    const { file } = register(home, 'http://127.0.0.1:1', { instance_id: 'killed', process_start: 'boot 0' })
    const { exit, stdout } = await cli('server list --json', { home })
    expect(exit).toBe(0)
    expect(JSON.parse(stdout).items).toEqual([
      expect.objectContaining({ base_url: baseUrl, data_dir: dir, store: 'memory', ready: true }),
    ])
    expect(existsSync(file)).toBe(process.platform !== 'linux')
  })

  test('only the user can read the registry of running servers', { tags: ['local-server/3', 'local-server/4'] }, () => {
    const registry = join(temporaryDir(), 'servers')
    registerServer(registry, { instance_id: 'a' } as Parameters<typeof registerServer>[1])
    expect([registry, join(registry, 'a.json')].map((it) => statSync(it).mode & 0o777)).toEqual([0o700, 0o600])
  })

  const database = 'postgres://db.example.com:5432/shop'
  test.each([
    [database, { store: 'postgres', database }],
    ['sqlite', { store: 'sqlite' }],
  ])('server list names the store %s of a server', async (shown, members) => {
    const home = temporaryDir()
    const { baseUrl } = await localStub()
    const { dir } = register(home, baseUrl, members)
    const { stdout } = await cli('server list', { home })
    expect(stdout).toContain(`${baseUrl}  ${shown} with`)
    expect(stdout).toContain(`${dir} (process`)
  })

  test('server list skips registry entries that are no servers or that it cannot remove', async () => {
    const home = temporaryDir()
    const { registry } = register(home, 'no URL')
    mkdirSync(join(registry, 'folder.json'))
    expect(JSON.parse((await cli('server list --json', { home })).stdout)).toEqual({ items: [] })
    expect((await cli('apps list', { home })).stderr).toContain('No server is chosen and no local server runs.')
  })

  test('server list ignores a registry that other users may write', async () => {
    const home = temporaryDir()
    const { baseUrl } = await localStub()
    const { registry } = register(home, baseUrl)
    chmodSync(registry, 0o777)
    expect(JSON.parse((await cli('server list --json', { home })).stdout)).toEqual({ items: [] })
  })
})

describe('a command without a base URL', () => {
  test('command without a base URL names the running in-memory servers', async () => {
    const home = temporaryDir()
    const { baseUrl } = await localStub()
    register(home, baseUrl)
    const alone = await cli('apps list', { home })
    expect([alone.exit, alone.stderr]).toEqual([
      3,
      `error: No server is chosen. A local server runs on ${baseUrl} (in memory). (BASE_URL_REQUIRED)
hint: Log in to it: \`voucherctl login --local --account me --base-url ${baseUrl}\`. Or name it with --base-url URL or VOUCHERCTL_BASE_URL.
`,
    ])
    const second = await localStub()
    const more = { instance_id: 'second', started_at: '2026-11-21T11:00:00.000Z', store: 'sqlite' }
    const { dir } = register(home, second.baseUrl, more)
    expect((await cli('apps list', { home })).stderr).toContain(
      `No server is chosen. Local servers run on ${baseUrl} (in memory), ${second.baseUrl} (${dir}).`,
    )
  })

  test.each(['apps list', 'templates list', 'bots updates'])(
    '%s before a login names the login to the local server, also in its prompt',
    async (line) => {
      const home = temporaryDir()
      const { baseUrl } = await localStub()
      const dir = join(home, '.local', 'share', 'voucherctl')
      mkdirSync(dir, { recursive: true })
      const { file } = register(home, baseUrl, { data_dir: dir, store: 'sqlite' })
      copyFileSync(file, join(dir, 'server.json'))
      const login = 'Log in first: `voucherctl login --local --account me`.'
      expect(errorOf((await cli(`${line} --json`, { home })).stderr).hint.startsWith(login)).toBe(true)
      const asked = await cli(line, { home, terminal: true, replies: [undefined] })
      expect(asked.asked[0]?.startsWith(login)).toBe(true)
    },
  )

  test.each<
    [condition: string, isNamed: boolean, given: { profile?: object; env?: Record<string, string>; server?: object }]
  >([
    ['before a login', true, {}],
    ['but not if the profile has its JWT', false, { profile: { value: secrets.VOUCHERCTL_JWT, store: 'shop' } }],
    ['but not if VOUCHERCTL_JWT is set', false, { env: { VOUCHERCTL_JWT: secrets.VOUCHERCTL_JWT } }],
    ['but not if the server has no operator API', false, { server: { operator_key_file: null } }],
  ])('templates list without a token names the login, %s', async (_, isNamed, { profile, env = {}, server }) => {
    const home = temporaryDir()
    const { baseUrl } = await localStub()
    register(home, baseUrl, { store_id: 'shop', ...server })
    const credentials = profile ? { jwt: { ...profile, origin: baseUrl } } : {}
    storeProfile(home, { base_url: baseUrl, credentials })
    const { code, hint } = errorOf((await cli('templates list --json', { home, env })).stderr)
    expect([code, hint.includes('Log in first: ')]).toEqual(['CREDENTIAL_REQUIRED', isNamed])
  })

  test('doctor names the running in-memory servers if no server is chosen', async () => {
    const home = temporaryDir()
    const { baseUrl } = await localStub()
    register(home, baseUrl)
    const { stdout } = await cli('doctor --json', { home })
    expect(JSON.parse(stdout).checks).toContainEqual(
      expect.objectContaining({
        name: 'base URL',
        message: `No server is chosen. A local server runs on ${baseUrl} (in memory).`,
      }),
    )
  })
})

describe('a base URL of a local server', () => {
  test('server status finds the server at --base-url and prints its folder', { tags: 'local-server/1' }, async () => {
    const home = temporaryDir()
    const { baseUrl } = await localStub()
    const { dir } = register(home, baseUrl)
    const { exit, stdout } = await cli(`server status --base-url ${baseUrl}`, { home })
    expect([exit, stdout]).toEqual([0, expect.stringContaining(`The server of ${dir} runs on ${baseUrl}.`)])
  })

  test('server status and stop act only on the server that --base-url names', { tags: 'local-server/1' }, async () => {
    const other = `http://127.0.0.1:${await closedPort()}`
    const home = temporaryDir()
    register(home, (await localStub()).baseUrl)
    const shown = await cli(`server status --base-url ${other}`, { home })
    expect([shown.exit, shown.stdout]).toEqual([1, expect.stringContaining(`No local server runs on ${other}.`)])
    const stopped = await cli(`server stop --base-url ${other} --json`, { home })
    expect(JSON.parse(stopped.stdout)).toEqual({ stopped: false, pid: null, data_dir: null, base_url: other })
  })

  test('server status follows the base URL of a profile without a data folder', async () => {
    const home = temporaryDir()
    const { baseUrl } = await localStub()
    const { dir } = register(home, baseUrl)
    storeProfile(home, { base_url: baseUrl })
    expect(JSON.parse((await cli('server status --json', { home })).stdout)).toMatchObject({ data_dir: dir })
  })

  test('an operator command with --base-url uses the key of the registered server there', async () => {
    const home = temporaryDir()
    const local = await localStub()
    register(home, local.baseUrl)
    expect((await cli(`platform reviews --base-url ${local.baseUrl}`, { home })).exit).toBe(0)
    expect(local.received.at(-1)?.headers.authorization).toBe(`Bearer ${secrets.VOUCHERCTL_OPERATOR_KEY}`)
  })
})

describe('a profile whose local server does not run', () => {
  async function stopped(more: Record<string, unknown> = {}) {
    const home = temporaryDir()
    const port = await closedPort()
    const origin = `http://127.0.0.1:${port}`
    const dir = temporaryDir()
    const jwt = { value: secrets.VOUCHERCTL_JWT, origin }
    storeProfile(home, { base_url: origin, account: 'demo', data_dir: dir, credentials: { jwt }, ...more })
    return { home, dir, port }
  }

  test.each(['apps list', 'platform reviews', 'server keys list', 'api GET /open-platform/applications'])(
    '%s names the command that starts the server on the port of the profile',
    async (command) => {
      const { home, dir, port } = await stopped()
      const { exit, stderr } = await cli(`${command} --retries 0 --json`, { home })
      expect(exit).toBe(9)
      expect(errorOf(stderr).hint).toBe(
        `The local server of ${dir} does not run. Start it: \`voucherctl server start --detach --data ${dir} --port ${port}\`.`,
      )
    },
  )

  test.each(['apps list', 'templates list', 'bots updates', 'server keys list'])(
    '%s without a credential names the start of the server, not the credential',
    async (command) => {
      const { home, dir } = await stopped({ credentials: {} })
      const { exit, stderr } = await cli(command, { home, terminal: true })
      expect([exit, stderr]).toEqual([9, expect.stringContaining(`The local server of ${dir} does not run. Start it:`)])
    },
  )

  test('hint names a start without the port if another program has the port', async () => {
    const { baseUrl } = await stub(() => refusal(404, 'ROUTE_NOT_FOUND'))
    const { home, dir } = await stopped({ base_url: baseUrl, store: 'bound' })
    const { exit, stderr } = await cli('apps list --json', { home })
    expect([exit, errorOf(stderr).hint]).toEqual([
      9,
      `The local server of ${dir} does not run. Start it: \`voucherctl server start --detach --data ${dir}\`.`,
    ])
  })

  test('hint names the login if the server of the folder runs on another port', async () => {
    const { home, dir } = await stopped()
    const { baseUrl } = await localStub()
    const server = { instance_id: INSTANCE, pid: process.pid, base_url: baseUrl, data_dir: dir, started_at: '' }
    writeFileSync(join(dir, 'server.json'), JSON.stringify(server))
    const { stderr } = await cli('apps list --retries 0', { home })
    expect(stderr).toContain(`runs on ${baseUrl} now. Log in there: \`voucherctl login --local --account demo\`.`)
  })

  test('hint names start and login if the data folder of an in-memory server is gone', async () => {
    const { home } = await stopped({ data_dir: '/nonexistent/data' })
    const { stderr } = await cli('apps list --retries 0', { home })
    const folder = join(home, '.local', 'share', 'voucherctl')
    expect(stderr).toMatch(/is gone.*`voucherctl server start --detach --port \d+`/)
    expect(stderr).toContain(`\`voucherctl login --local --account demo --data ${folder}\``)
  })
})

describe('an expired account JWT', () => {
  const expired = () => localStub(() => refusal(401, 'TOKEN_EXPIRED'))

  test('hint names the complete login to the local server of the profile', async () => {
    const home = temporaryDir()
    const { baseUrl } = await expired()
    const { dir } = register(home, baseUrl)
    const jwt = { value: secrets.VOUCHERCTL_JWT, origin: baseUrl }
    storeProfile(home, { base_url: baseUrl, account: 'demo', data_dir: dir, credentials: { jwt } })
    const { exit, stderr } = await cli('apps list --json', { home })
    expect([exit, errorOf(stderr).hint]).toEqual([4, 'Log in again: `voucherctl login --local --account demo`.'])
  })

  test('hint says to unset VOUCHERCTL_JWT if the variable holds the JWT', async () => {
    const home = temporaryDir()
    const { baseUrl } = await expired()
    const { dir } = register(home, baseUrl, { store: 'sqlite' })
    const { stderr } = await cli(`apps list --base-url ${baseUrl}`, { home, env: secrets })
    expect(stderr).toContain('VOUCHERCTL_JWT holds the expired one and comes before a profile: unset it.')
    expect(stderr).toContain(`\`voucherctl login --local --account me --data ${dir} --base-url ${baseUrl}\``)
  })
})

describe('a server without a test clock', () => {
  const advance = 'platform clock advance --in 1d --json'
  const withoutClock = () => localStub(() => refusal(409, 'TEST_CLOCK_OFF'))
  const restart = (stop: string, start: string) =>
    `Stop the server${start.includes('--memory') ? ', which loses its data' : ''}: \`voucherctl server stop${stop}\`. Then start it with --test-clock, and keep its other flags: \`voucherctl server start --detach${start} --test-clock\`.`

  test.each([
    ['the folder of the profile', true, 'sqlite'],
    ['another folder', false, 'sqlite'],
    ['no folder, but memory', false, 'memory'],
  ])('hint stops it and starts it again on its port, on %s', async (_where, isOfProfile, store) => {
    const home = temporaryDir()
    const { baseUrl } = await withoutClock()
    const { dir } = register(home, baseUrl, { store })
    if (isOfProfile) storeProfile(home, { base_url: baseUrl, data_dir: dir })
    const { exit, stderr } = await cli(`${advance} --base-url ${baseUrl}`, { home, env: secrets })
    const stop = isOfProfile ? '' : store === 'memory' ? ` --base-url ${baseUrl}` : ` --data ${dir}`
    const port = ` --port ${new URL(baseUrl).port}`
    expect([exit, errorOf(stderr).hint]).toEqual([
      6,
      restart(stop, `${store === 'memory' ? ' --memory' : ` --data ${dir}`}${port}`),
    ])
  })

  test('hint for an unknown server says generally to stop it first', async () => {
    const { baseUrl } = await withoutClock()
    const { stderr } = await cli(`${advance} --base-url ${baseUrl}`, { env: secrets })
    expect(errorOf(stderr).hint).toMatch(/^Stop it \(`voucherctl server stop`\), then start it: `.* --test-clock`\.$/)
  })
})

test('server commands refuse -p with a remote or a missing profile', { tags: 'local-server/1' }, async () => {
  const home = homeWithProfiles({ default: {}, remote: { base_url: 'https://vouchers.example' } })
  for (const command of ['server status', 'server stop', 'server start', 'server export --out backup.ndjson']) {
    const ran = await cli(`${command} -p remote`, { home })
    expect([command, ran.exit]).toEqual([command, 2])
    expect(ran.stderr).toContain('Profile remote is for https://vouchers.example, which is no local server')
  }
  expect((await cli('server stop -p missing', { home })).exit).toBe(5)
  expect((await cli('server logs -p remote', { home })).stderr).toContain('operator key for https://vouchers.example')
})

test('server commands print the data folder if no server runs in it', { tags: 'local-server/1' }, async () => {
  const home = homeWithProfiles({ shop: { data_dir: '/nowhere/data' } })
  const stopped = await cli('server stop -p shop', { home, terminal: true })
  expect(stopped.stdout).toContain('No server runs in /nowhere/data.')
  const status = await cli('server status -p shop', { home, terminal: true })
  expect(status.stderr).toContain('voucherctl server start --detach --data /nowhere/data --profile shop')
  expect((await cli('server logs -p shop', { home })).stderr).toContain('No server runs in /nowhere/data.')
})

test('server start follows only a profile that the command line names', { tags: 'local-server/2' }, async () => {
  const home = homeWithProfiles({ default: { data_dir: '/data/shop' } })
  for (const line of ['', ' -p default'])
    expect((await cli(`server start --dry-run${line}`, { home })).stdout.includes('/data/shop')).toBe(line !== '')
})
