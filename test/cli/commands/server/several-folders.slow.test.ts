import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { built } from '../../../support/cli/built-cli.js'
import { cli, temporaryDir } from '../../../support/cli/cli.js'
import { profileFile, storedProfiles } from '../../../support/cli/profiles.js'

type Env = Record<string, string>

/** Runs the built command line in a home folder. */
const run = (home: string, line: string, env?: Env) => built.run(line.split(' '), home, env)

async function json(home: string, line: string, env?: Env) {
  const { exit, stdout, stderr } = await run(home, `${line} --json`, env)
  expect([line, exit, stderr.includes('error')]).toEqual([line, 0, false])
  return JSON.parse(stdout)
}

const stop = (home: string, url: string) => run(home, `server stop --base-url ${url}`)

/** Starts a server in the background. @returns its base URL */
async function start(home: string, line: string): Promise<string> {
  const { base_url: url } = await json(home, `server start --detach --log-level silent ${line}`)
  return url
}

/** Starts a server that ends with the test. */
async function startForTest(home: string, line: string): Promise<string> {
  const url = await start(home, line)
  onTestFinished(async () => {
    await stop(home, url)
  })
  return url
}

describe('a profile that follows folder A while the server of folder B runs too', () => {
  const home = mkdtempSync(join(tmpdir(), 'voucherctl-test-'))
  const folders = { A: join(home, 'A'), B: join(home, 'B') }
  const urls = { A: '', B: '' }
  let profiles = ''

  beforeAll(async () => {
    for (const name of ['A', 'B'] as const) urls[name] = await start(home, `--port 0 --data ${folders[name]}`)
    await json(home, `login --local --account me --data ${folders.A}`)
    profiles = readFileSync(profileFile(home), 'utf8')
  })
  afterAll(async () => {
    for (const url of Object.values(urls)) await stop(home, url)
    rmSync(home, { recursive: true, force: true })
  })

  /** Replaces `URL:A` and `DIR:A` by base URL and data folder of A. */
  const filled = (text: string) =>
    text.replaceAll(/(URL|DIR):([AB])/g, (_, kind, name: 'A' | 'B') => (kind === 'URL' ? urls : folders)[name])

  test.each<[line: string, variable: string, acts: 'A' | 'B']>([
    ['server status', '', 'A'],
    ['server status --data DIR:B', '', 'B'],
    ['server status --base-url URL:B', '', 'B'],
    ['server status', 'URL:B', 'B'],
    ['server status --data DIR:A', 'URL:B', 'A'],
    ['server env --data DIR:B', '', 'B'],
    ['server env --data DIR:B', 'URL:A', 'B'],
    ['login --local --account me', '', 'A'],
    ['login --local --account me', 'URL:B', 'B'],
    ['login --local --account me --base-url URL:B', '', 'B'],
    ['login --local --account me --data DIR:B', '', 'B'],
    ['login --local --account me --data DIR:B', 'URL:A', 'B'],
    ['login --local --account me --data DIR:B --base-url URL:B', 'URL:A', 'B'],
  ])('%s with the variable "%s" acts on the server of %s', { tags: 'local-server/1' }, async (line, variable, acts) => {
    writeFileSync(profileFile(home), profiles)
    const env: Env = variable === '' ? {} : { VOUCHERCTL_BASE_URL: filled(variable) }
    const data = await json(home, filled(line), env)
    expect(data.base_url ?? data.VOUCHERCTL_BASE_URL).toBe(urls[acts])
    if (!line.startsWith('login')) return
    expect(data).toMatchObject({ data_dir: folders[acts], previous_data_dir: acts === 'A' ? null : folders.A })
    expect(await json(home, 'profiles show')).toMatchObject({ data_dir: folders[acts], base_url: urls[acts] })
  })

  test('login refuses --data and --base-url that name different servers', async () => {
    const line = filled('login --local --account me --data DIR:B --base-url URL:A')
    const { exit, stderr } = await run(home, line)
    expect([exit, stderr]).toEqual([9, expect.stringContaining(filled('URL:A, from flag --base-url'))])
  })

  test('login says which folder the profile follows now and before, and that the variable wins', async () => {
    writeFileSync(profileFile(home), profiles)
    const line = filled('login --local --account me --data DIR:B')
    const { stdout, stderr } = await run(home, line, { VOUCHERCTL_BASE_URL: urls.A })
    expect(stdout).toContain(filled('the local server of DIR:B, which it follows now. Before, it followed DIR:A.'))
    expect(stderr).toContain('VOUCHERCTL_BASE_URL is set and wins over the profile: unset it')
  })

  test.each<[line: string, env: Env, folder: 'A' | 'B' | 'default']>([
    ['server start', {}, 'default'],
    ['server start --data DIR:B', {}, 'B'],
    ['server start --profile default', {}, 'A'],
    ['server start', { VOUCHERCTL_PROFILE: 'default' }, 'A'],
  ])('%s with %o starts the folder %s', { tags: 'local-server/2' }, async (line, env, folder) => {
    writeFileSync(profileFile(home), profiles)
    const dir = folder === 'default' ? join(home, '.local', 'share', 'voucherctl') : folders[folder]
    const { stdout } = await cli(filled(`${line} --dry-run`), { home, env })
    expect(stdout).toMatch(new RegExp(`would start a server on ${dir}$`, 'm'))
  })
})

test('login and server keys act on --data if that server has the port of the stopped one', async () => {
  const home = temporaryDir()
  const [a, b] = [join(home, 'A'), join(home, 'B')]
  const url = await start(home, `--port 0 --data ${a}`)
  await json(home, `login --local --account me --data ${a}`)
  await stop(home, url)
  await startForTest(home, `--port ${new URL(url).port} --data ${b}`)
  expect((await run(home, 'apps list')).stderr).toContain(`\`voucherctl login --local --account me --data ${b}\``)
  expect((await json(home, `server keys list --data ${b}`)).items).toHaveLength(2)
  expect(await json(home, `login --local --account me --data ${b}`)).toMatchObject({ previous_data_dir: a })
  expect(storedProfiles(home).default.data_dir).toBe(b)
  expect((await run(home, 'apps list')).exit).toBe(0)
})

test('a plain server start warns that the commands of the profile call another server', async () => {
  const home = temporaryDir()
  const other = join(home, 'A')
  const url = await start(home, `--port 0 --data ${other}`)
  await json(home, `login --local --account me --data ${other}`)
  await stop(home, url)
  const { stdout, stderr } = await run(home, 'server start --detach --port 0 --json')
  const { base_url: plain } = JSON.parse(stdout)
  onTestFinished(async () => {
    await stop(home, plain)
  })
  expect(stderr).toContain(
    `call the server of ${other}. To start it: \`voucherctl server start --detach --data ${other}`,
  )
  expect(await json(home, 'server status')).toMatchObject({ base_url: plain })
})

test('a plain server start names the login to its server if the one of the profile runs', async () => {
  const home = temporaryDir()
  const other = join(home, 'A')
  await startForTest(home, `--port 0 --data ${other}`)
  await json(home, `login --local --account me --data ${other}`)
  await namesLogin(home, other)
})

test('no hint starts a store in the temporary folder of a server in memory that has ended', async () => {
  const home = temporaryDir()
  const url = await start(home, '--port 0 --memory')
  const { data_dir: gone } = await json(home, `login --local --account me --base-url ${url}`)
  await stop(home, url)
  for (const line of ['server status', 'server logs', 'login --local --account me', 'apps list']) {
    const { stderr } = await cli(line, { home, env: { HOME: home }, terminal: true })
    expect(stderr.replaceAll(/\s+/g, ' ')).not.toContain(`--data ${gone}`)
  }
  await namesLogin(home, gone)
})

/** Expects that a plain start names the followed folder, and a login with which the next command succeeds. */
async function namesLogin(home: string, followed: string) {
  const { stdout, stderr } = await run(home, 'server start --detach --port 0 --json')
  onTestFinished(async () => {
    await stop(home, JSON.parse(stdout).base_url)
  })
  const [, login = ''] = /To call this one: `voucherctl (.+)`/.exec(stderr) ?? []
  expect(stderr).toContain(`call the server of ${followed}. To call this one: `)
  expect((await run(home, login)).exit).toBe(0)
  expect((await run(home, 'apps list')).exit).toBe(0)
}

describe('a server in memory', () => {
  test('server status finds the only server, and of several names each', async () => {
    const home = temporaryDir()
    const first = await startForTest(home, '--memory --port 0')
    expect((await run(home, 'server status --jq .base_url')).stdout).toBe(`${first}\n`)
    const second = await startForTest(home, '--memory --port 0')
    const { exit, stdout, stderr } = await run(home, 'server status')
    expect([exit, stdout]).toEqual([1, expect.stringContaining('No server runs in ')])
    expect(stderr).toContain(`Elsewhere runs ${first} (in memory), ${second} (in memory).`)
    expect(stderr).toContain(`\`voucherctl server status --base-url ${first}\``)
  })

  test('server stop stops no server that the line does not name, but names it', async () => {
    const home = temporaryDir()
    const url = await startForTest(home, '--memory --port 0')
    const { exit, stderr } = await run(home, 'server stop')
    expect([exit, stderr]).toEqual([0, expect.stringContaining(`\`voucherctl server stop --base-url ${url}\``)])
    expect((await json(home, 'server status')).base_url).toBe(url)
  })
})

test.each([
  ['in the default folder', '', ''],
  ['in another folder', '--data FOLDER', ' --data FOLDER'],
  ['in memory', '--memory', ' --base-url URL'],
])('start and first command print a login that works for a server %s', async (_, flags, place) => {
  const home = temporaryDir()
  const filled = (text: string, url: string) => text.replace('FOLDER', join(home, 'shop')).replace('URL', url)
  const line = `server start --detach --port 0 --log-level silent ${filled(flags, '')}`.trim()
  const self = [process.execPath, built.bin] as const
  const started = await cli(line, { home, env: { HOME: home }, now: Date.now(), self, terminal: true })
  const { base_url: url } = await json(home, 'server status')
  onTestFinished(async () => {
    await stop(home, url)
  })
  const login = `login --local --account me${filled(place, url)}`
  expect(started.stderr.replaceAll(/\s+/g, ' ')).toContain(`Next: \`voucherctl ${login}\``)
  expect((await run(home, 'apps list')).stderr).toContain(`\`voucherctl ${login}\``)
  if (place !== '') expect((await run(home, 'login --local')).stderr).toContain(`\`voucherctl ${login}\``)
  expect((await run(home, login)).exit).toBe(0)
  expect((await run(home, 'apps list')).exit).toBe(0)
})

test('server keys rotate names pins, asks, and refuses a second rotation in the grace period', async () => {
  const home = temporaryDir()
  const folder = join(home, 'shop')
  await startForTest(home, `--port 0 --data ${folder}`)
  const line = `server keys rotate --data ${folder}`
  const [current, next] = (await json(home, `server keys list --data ${folder}`)).items
  const asked = await run(home, line)
  expect([asked.exit, asked.stdout]).toEqual([3, ''])
  expect(asked.stderr).toContain(`${next.pin} until 120 s after the next rotation; ${current.pin} until `)
  expect((await json(home, `${line} --yes`)).items[0]).toMatchObject({ pin: next.pin, state: 'current' })
  const again = await run(home, `${line} --yes --json`)
  expect([again.exit, JSON.parse(again.stderr).error.code]).toEqual([6, 'KEYS_IN_GRACE'])
  expect(again.stderr).toContain(`\`voucherctl ${line} --yes --json --force\``)
  expect((await json(home, `${line} --yes --force`)).items).toHaveLength(4)
})

test('the login that a start prints is for its server if VOUCHERCTL_BASE_URL names another one', async () => {
  const home = temporaryDir()
  const env = { HOME: home, VOUCHERCTL_BASE_URL: await startForTest(home, '--memory --port 0') }
  const self = [process.execPath, built.bin] as const
  const line = 'server start --detach --port 0 --log-level silent'
  const { stderr } = await cli(line, { home, env, now: Date.now(), self, terminal: true })
  const dir = join(home, '.local', 'share', 'voucherctl')
  const { base_url: url } = await json(home, `server status --data ${dir}`)
  onTestFinished(async () => {
    await stop(home, url)
  })
  const login = `login --local --account me --data ${dir}`
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(`Next: \`voucherctl ${login}\``)
  expect(await json(home, login, env)).toMatchObject({ base_url: url })
})

test('server keys rotate names the end of the current pin in the time of the test clock', async () => {
  const home = temporaryDir()
  await startForTest(home, '--port 0 --test-clock')
  const { now } = await json(home, 'platform clock advance --in 31d')
  const { stderr } = await run(home, 'server keys rotate --json')
  const [, until = ''] = / until (\S+Z), in clients/.exec(stderr) ?? []
  expect(Date.parse(until)).toBeGreaterThanOrEqual(Date.parse(now) + 119_000)
})
