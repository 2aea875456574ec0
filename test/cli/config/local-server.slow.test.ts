import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { built } from '../../support/cli/built-cli.js'
import { cli, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { homeWithProfiles, storedProfiles } from '../../support/cli/profiles.js'

async function json(home: string, line: string) {
  const { exit, stdout, stderr } = await built.run([...line.split(' '), '--json'], home)
  return { exit, stderr, data: stdout === '' ? undefined : JSON.parse(stdout) }
}

async function start(home: string, line: string): Promise<{ base_url: string; data_dir: string; pid: number }> {
  const { exit, stderr, data } = await json(home, `server start --detach --port 0 --log-level silent ${line}`.trimEnd())
  expect([exit, stderr]).toEqual([0, ''])
  onTestFinished(async () => {
    await built.run(['server', 'stop', '--data', data.data_dir], home)
  })
  return data
}

test('server commands use the data folder of a profile; login --local also uses its base URL', async () => {
  const home = temporaryDir()
  const other = join(home, 'other')
  const ofDefault = await start(home, '')
  const ofShop = await start(home, `--data ${other}`)
  const shop = await json(home, `login --local --account demo -p shop --data ${other}`)
  expect(shop.data).toMatchObject({ base_url: ofShop.base_url, data_dir: other })
  const plain = await json(home, 'login --local --account demo')
  expect(plain.data).toMatchObject({ base_url: ofDefault.base_url, data_dir: ofDefault.data_dir })

  // A new profile gets the data folder of a known local server even if the host name differs.
  const alias = ofShop.base_url.replace('127.0.0.1', 'localhost')
  const elsewhere = await json(home, `login --local --account demo -p third --base-url ${alias}`)
  expect(elsewhere.data).toMatchObject({ base_url: ofShop.base_url, data_dir: other })
  expect(storedProfiles(home).third).toMatchObject({ base_url: ofShop.base_url, data_dir: other })
  // Without --data, login uses the data folder that profile shop has stored.
  expect((await json(home, 'login --local --account demo -p shop')).data.base_url).toBe(ofShop.base_url)

  expect((await json(home, 'server status -p shop')).data).toMatchObject({ running: true, base_url: ofShop.base_url })
  const logs = await built.run(['server', 'logs', '-p', 'shop', '--json'], home)
  expect(logs.stdout.split('\n').filter((line) => line.includes('"POST"')).length).toBe(3)
  expect((await json(home, 'server stop -p shop')).data).toEqual({
    stopped: true,
    pid: ofShop.pid,
    data_dir: other,
    base_url: ofShop.base_url,
  })
  expect((await json(home, 'server status -p shop')).exit).toBe(1)
  expect((await json(home, 'server status')).data).toMatchObject({ running: true, base_url: ofDefault.base_url })
  expect((await start(home, '-p shop')).data_dir).toBe(other)
})

test('login --local sends the operator key only to the server of a known data folder', async () => {
  const { baseUrl, received } = await stub(() => success({ jwt: 'x', instanceId: 'another' }))
  const home = temporaryDir()
  const folder = join(home, '.local', 'share', 'voucherctl')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'operator.key'), 'opk_CANARY')
  const server = {
    pid: process.pid,
    instance_id: 'own',
    data_dir: folder,
    operator_key_file: join(folder, 'operator.key'),
  }
  for (const [own, asked, env] of [
    ['http://127.0.0.1:1', baseUrl, {}],
    [baseUrl, baseUrl, {}],
    [baseUrl, baseUrl.replace('127.0.0.1', '0.0.0.0'), {}],
    ['http://127.0.0.1:1', '', { VOUCHERCTL_BASE_URL: 'https://vouchers.example' }],
  ] as const) {
    writeFileSync(join(folder, 'server.json'), JSON.stringify({ ...server, base_url: own }))
    const line = `login --local --account demo ${asked === '' ? '' : `--base-url ${asked}`}`
    const ran = await cli(line, { home, env })
    expect([own, asked, ran.exit]).toEqual([own, asked, 9])
    expect(ran.stderr).toMatch(/is not a local server with a known data folder|No server runs in/)
  }
  expect(received.map((it) => [it.path, it.headers.authorization])).toEqual([['/healthz', undefined]])
})

test('profiles set --base-url of another machine removes the data folder from the profile', async () => {
  const home = homeWithProfiles({ shop: { base_url: 'http://127.0.0.1:8420', data_dir: '/data' } })
  await cli('profiles set shop --base-url http://127.0.0.1:8421', { home })
  expect(storedProfiles(home).shop.data_dir).toBe('/data')
  await cli('profiles set shop --base-url https://vouchers.example', { home })
  expect(storedProfiles(home).shop).toEqual({ base_url: 'https://vouchers.example' })
})
