import { chmodSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { credentialsOf } from '../../../../src/cli/commands/server/env.js'
import { built } from '../../../support/cli/built-cli.js'
import { cli, type Given, secrets, temporaryDir } from '../../../support/cli/cli.js'
import { homeWithConfig } from '../../../support/cli/profiles.js'
import { seed, seedBotToken, seedToken } from '../../../support/server/seed.js'
import { temporaryFolder } from '../../../support/server/server.js'

function writeSeed(home: string, value: unknown = seed, mode = 0o600): void {
  const path = join(home, 'seed.json')
  writeFileSync(path, JSON.stringify(value, null, 2))
  chmodSync(path, mode)
}

/** Starts a server with the seed of the home folder, and stops it as soon as it is ready. */
function start(home: string, flags = '--seed seed.json') {
  const stop = new AbortController()
  const given = { home, signal: stop.signal, onStdout: () => stop.abort() }
  return cli(`server start --port 0 --log-level silent --json ${flags}`, given)
}

const errorOf = (stderr: string) => JSON.parse(stderr).error

describe('server start --seed --watch', () => {
  test('server start --watch plants a changed seed; after a mistake it keeps the earlier state', async () => {
    const home = temporaryDir()
    const yaml = (name: string) => `account: acme\napplications:\n  - { id: app_tea, ${name} }\n`
    writeFileSync(join(home, 'seed.yaml'), yaml('name: Tea shop'))
    const stop = new AbortController()
    let baseUrl = ''
    const names: string[] = []
    const readName = async () => {
      const { stdout } = await cli(`platform apps list --base-url ${baseUrl} --jq .items[].name`, { home })
      names.push(stdout.trim())
    }
    const ran = await cli('server start --memory --port 0 --log-level silent --json --seed seed.yaml --watch', {
      home,
      signal: stop.signal,
      onStdout(text) {
        baseUrl = JSON.parse(text).base_url
        writeFileSync(join(home, 'seed.yaml'), yaml('nme: Tea'))
      },
      async onStderr(text) {
        await readName()
        if (text.startsWith('{')) writeFileSync(join(home, 'seed.yaml'), yaml('name: Tea house'))
        else stop.abort()
      },
    })
    expect(ran.exit).toBe(0)
    expect(names).toEqual(['Tea shop', 'Tea house'])
    const [mistake = '', notice] = ran.stderr.trim().split('\n')
    expect(errorOf(mistake)).toMatchObject({
      code: 'INVALID_INPUT',
      hint: 'The server keeps its state. Correct the file.',
      details: { errors: [{ pointer: expect.stringMatching(/^seed\.yaml:3:/) }, expect.anything()] },
    })
    expect(notice).toBe('seed.yaml has changed: its records are planted again.')
  })

  test('server start --watch says that a mistake is gone if the earlier text returns', async () => {
    const home = temporaryDir()
    const file = join(home, 'seed.yaml')
    writeFileSync(file, 'account: acme\n')
    const stop = new AbortController()
    const { stderr } = await cli('server start --memory --port 0 --log-level silent --json --seed seed.yaml --watch', {
      home,
      signal: stop.signal,
      onStdout: () => writeFileSync(file, 'acount: acme\n'),
      onStderr: (text) => (text.startsWith('{') ? writeFileSync(file, 'account: acme\n') : stop.abort()),
    })
    expect(stderr.trim().split('\n').at(-1)).toBe('seed.yaml is as it was when its records were planted.')
  })

  test('server start --watch is refused without --memory and the file of a --seed', async () => {
    for (const flags of ['', '--memory', '--seed seed.json', '--memory --seed -']) {
      const { exit, stderr } = await cli(`server start --port 0 --watch ${flags}`)
      expect([exit, stderr]).toEqual([2, expect.stringContaining('voucherctl server start --memory --seed seed.yaml')])
    }
    expect((await cli('server start --memory --seed a.yaml --watch --detach')).exit).toBe(2)
  })
})

describe('server start --seed', () => {
  test('server start --seed plants an empty store, and the next start finds the seed', async () => {
    const home = temporaryDir()
    writeSeed(home)
    for (const found of ['planted', 'present']) {
      const { exit, stdout, stderr } = await start(home)
      expect([exit, stderr]).toEqual([0, ''])
      expect(JSON.parse(stdout)).toMatchObject({ store: 'sqlite', seed: found })
    }
    expect(JSON.parse((await start(home, '--memory --seed seed.json')).stdout)).toMatchObject({ seed: 'planted' })
    expect(JSON.parse((await start(home, '')).stdout)).not.toHaveProperty('seed')
  })

  test('server start --seed exits 6 if the store has other records than the seed', async () => {
    const home = temporaryDir()
    writeSeed(home)
    await start(home)
    writeSeed(home, { account: 'acme', applications: [{ id: 'app_tea', name: 'Tea shop' }] })
    for (const flags of ['', ' --detach']) {
      const { exit, stdout, stderr } = await start(home, `--seed seed.json${flags}`)
      expect([exit, stdout]).toEqual([6, ''])
      expect(errorOf(stderr)).toMatchObject({
        code: 'STORE_NOT_EMPTY',
        message: 'The store is not empty and does not hold the seed: app_tea is missing.',
        hint: expect.stringContaining('--data'),
      })
    }
  })

  test.skipIf(process.platform === 'win32')(
    'server start and server env refuse a seed file with tokens that others can read',
    { tags: 'seeds/4' },
    async () => {
      const home = temporaryDir()
      for (const mode of [0o640, 0o604, 0o620]) {
        writeSeed(home, seed, mode)
        for (const line of ['server start --memory --port 0', 'server env --base-url http://127.0.0.1:1']) {
          const { exit, stdout, stderr } = await cli(`${line} --seed seed.json --json`, { home })
          expect([exit, stdout]).toEqual([2, ''])
          expect(errorOf(stderr)).toMatchObject({ hint: 'Close it: chmod 600 seed.json' })
        }
      }
      writeSeed(home, { account: 'acme', applications: [{ id: 'app_tea', name: 'Tea shop' }] }, 0o644)
      expect((await start(home, '--memory --seed seed.json')).exit).toBe(0)
    },
  )

  test('server start --seed exits 2 with each mistake before it creates anything', { tags: 'seeds/4' }, async () => {
    const home = temporaryDir()
    writeSeed(home, { account: 'acme', applications: [{ id: 'app_tea' }], bot: [] })
    const { exit, stdout, stderr } = await start(home)
    expect([exit, stdout]).toEqual([2, ''])
    expect(errorOf(stderr)).toMatchObject({
      code: 'INVALID_INPUT',
      details: {
        errors: [
          { pointer: 'seed.json:4:5', message: 'applications[0].name is required.' },
          { pointer: 'seed.json:8:3', message: 'bot is not known here (did you mean bots?).' },
        ],
      },
    })
    expect(readdirSync(home)).toEqual(['seed.json'])
    expect((await start(home, '--seed missing.json')).exit).toBe(2)
  })

  test('server start --seed --dry-run checks the seed and plants nothing', async () => {
    const home = temporaryDir()
    writeSeed(home)
    const { exit, stdout } = await cli('server start --seed seed.json --dry-run --json', { home })
    expect([exit, readdirSync(home)]).toEqual([0, ['seed.json']])
    expect(stdout).toContain('with the seed of seed.json')
    writeSeed(home, {})
    expect((await cli('server start --seed seed.json --dry-run', { home })).exit).toBe(2)
  })
})

describe('server env', () => {
  const home = temporaryFolder()
  let baseUrl: string
  const run = (line: string, given: Given = {}) => cli(line, { home, ...given })

  beforeAll(async () => {
    writeSeed(home)
    const ran = await built.run('server start --seed seed.json --detach --port 0 --json'.split(' '), home)
    expect([ran.exit, ran.stderr]).toEqual([0, ''])
    baseUrl = JSON.parse(ran.stdout).base_url
  })
  afterAll(async () => {
    await built.run(['server', 'stop'], home)
    rmSync(home, { recursive: true, force: true })
  })

  /** A home folder whose profile holds the fake credentials for an origin. */
  function homeWithProfile(origin: string) {
    const credentials = {
      token: { value: secrets.VOUCHERCTL_TOKEN, origin },
      jwt: { value: secrets.VOUCHERCTL_JWT, origin },
      bot: { value: secrets.VOUCHERCTL_BOT_TOKEN, origin: 'http://127.0.0.1:9' },
    }
    return homeWithConfig({ current: 'shop', profiles: { shop: { base_url: origin, credentials } } })
  }

  test('server env --seed prints export lines that open the server of the seed', { tags: 'seeds/5' }, async () => {
    const { exit, stdout, stderr } = await run('server env --seed seed.json')
    expect(exit).toBe(0)
    expect(stdout.split('\n')).toEqual([
      `export VOUCHERCTL_BASE_URL=${baseUrl}`,
      `export VOUCHERCTL_TOKEN=${seedToken}`,
      `export VOUCHERCTL_BOT_TOKEN=${seedBotToken}`,
      '',
    ])
    expect(stderr).toBe('warning: The output holds credentials of seed.json: application token, bot token.\n')
    const tokens = [{ token: '1' }, { token: '2' }]
    expect(credentialsOf({ applications: [{ tokens }] } as never)).toEqual({ token: '1' })
    const env = { VOUCHERCTL_BASE_URL: baseUrl, VOUCHERCTL_TOKEN: seedToken, VOUCHERCTL_BOT_TOKEN: seedBotToken }
    const issued = await run('vouchers issue --template tpl_coffee --external-id 1 --recipient user-1', { env })
    expect(issued.exit).toBe(0)
    expect((await run('bots updates --json', { env })).exit).toBe(0)
  })

  test('server env --seed names the running server, not that of an earlier run', { tags: 'seeds/5' }, async () => {
    const env = { VOUCHERCTL_BASE_URL: 'http://127.0.0.1:9' }
    const { stdout } = await run('server env --seed seed.json --json', { env })
    expect(JSON.parse(stdout).VOUCHERCTL_BASE_URL).toBe(baseUrl)
    const named = await run('server env --seed seed.json --json --base-url http://127.0.0.1:7', { env })
    expect(JSON.parse(named.stdout).VOUCHERCTL_BASE_URL).toBe('http://127.0.0.1:7')
  })

  test('server env on a terminal prints credentials only with --show-secrets', { tags: 'seeds/5' }, async () => {
    const refused = await run('server env --seed seed.json', { terminal: true, columns: 80 })
    expect([refused.exit, refused.stdout]).toEqual([2, ''])
    expect(refused.stderr).toContain('--show-secrets')
    const shown = await run('server env --seed seed.json --show-secrets', { terminal: true, columns: 80 })
    expect([shown.exit, shown.stdout.includes(seedToken)]).toEqual([0, true])
    expect((await run('server env', { terminal: true, columns: 80 })).stdout).toBe(
      `export VOUCHERCTL_BASE_URL=${baseUrl}\n`,
    )
  })

  test('server env --dry-run prints prefixes of the credentials', async () => {
    const { stdout } = await run('server env --seed seed.json --json --dry-run')
    expect(JSON.parse(stdout).VOUCHERCTL_TOKEN).toBe(`${seedToken.slice(0, 8)}…`)
  })

  test('server env without a seed prints the credentials of the profile', { tags: 'seeds/5' }, async () => {
    const { exit, stdout, stderr } = await cli('server env', { home: homeWithProfile(baseUrl), env: secrets })
    expect(exit).toBe(0)
    expect(stdout.split('\n')).toEqual([
      `export VOUCHERCTL_BASE_URL=${baseUrl}`,
      `export VOUCHERCTL_TOKEN=${secrets.VOUCHERCTL_TOKEN}`,
      `export VOUCHERCTL_JWT=${secrets.VOUCHERCTL_JWT}`,
      '',
    ])
    expect(stderr).toBe('warning: The output holds credentials of profile shop: application token, account JWT.\n')
  })

  test('server env never prints the operator key of the data folder', async () => {
    const { stdout, stderr } = await run(`server env --json --data ${join(home, '.local', 'share', 'voucherctl')}`)
    expect([JSON.parse(stdout), stderr]).toEqual([{ VOUCHERCTL_BASE_URL: baseUrl }, ''])
  })

  test('server env --data exits 9 if no server runs in that folder', async () => {
    const { exit, stderr } = await run(`server env --seed seed.json --json --data ${home}`)
    expect([exit, errorOf(stderr).code]).toEqual([9, 'LOCAL_SERVER_NOT_RUNNING'])
  })
})
