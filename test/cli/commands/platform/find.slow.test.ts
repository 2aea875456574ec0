import { afterAll, beforeAll, expect, test } from 'vitest'
import { built } from '../../../support/cli/built-cli.js'
import { cli, redeemCode, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { pageOf } from '../../../support/cli/samples.js'
import { type CliServer, cliServer } from '../../../support/cli/server.js'

let server: CliServer
beforeAll(async () => {
  server = await cliServer()
})
afterAll(() => server.close())

/** Runs the built command against the server and reads its JSON. */
async function run(line: string): Promise<{ readonly items: readonly Record<string, unknown>[] }> {
  const ran = await built.run([...line.split(' '), '--json'], temporaryDir(), server.env)
  expect([line, ran.exit, ran.stderr]).toEqual([line, 0, ''])
  return JSON.parse(ran.stdout)
}

test('the built command finds, lists and shows the records of every application', async () => {
  const { id, credential } = await server.issue()
  expect((await run(`platform find ${credential.value}`)).items).toMatchObject([{ kind: 'voucher', id }])
  const [bot] = (await run('platform bots list')).items
  expect(bot).toMatchObject({ username: expect.any(String), application_id: 'app_shop' })
  expect((await run('platform bots list --app app_unknown')).items).toEqual([])
  expect(await run('platform templates show tpl_coffee')).toMatchObject({ id: 'tpl_coffee', status: 'active' })
  expect((await run('platform totals --template tpl_coffee --buckets 1')).items).toMatchObject([{ issued: 1 }])
  expect((await run('platform totals --template tpl_unknown --buckets 1')).items).toMatchObject([{ issued: 0 }])
  expect((await run('platform vouchers list --app app_shop')).items).toMatchObject([{ id }])
  expect((await run('platform vouchers list --app app_unknown')).items).toEqual([])
  expect((await run('platform deliveries list --type ping --update 1')).items).toEqual([])
})

test('platform vouchers show says which calls the operator made', async () => {
  const { platform } = server.client
  const { id } = await server.issue()
  await platform.showCredentials({ voucherId: id })
  const call = { appId: 'app_shop', endpoint: 'vouchers.redeem', input: {}, voucher_id: id } as const
  expect(await platform.callAsApp(call)).toMatchObject({ ok: true, data: { status: 200 } })
  const { stdout } = await cli(`platform vouchers show ${id}`, {
    env: { ...server.env, NO_COLOR: '1' },
    terminal: true,
  })
  expect(stdout.match(/by +the operator/g)).toHaveLength(2)
  expect(stdout).toMatch(/shown \*/)
})

test('platform deliveries list sends the type and the update id', async () => {
  const { baseUrl, received } = await stub(() => success(pageOf()))
  await cli(`platform deliveries list --type message --update 7 --base-url ${baseUrl}`, { env: secrets })
  expect(received[0]?.path).toMatch(/\?(?=.*type=message)(?=.*update_id=7)/)
})

test('a dry run of platform find shows no code', async () => {
  const { baseUrl, received } = await stub(() => success({ items: [] }))
  const ran = await cli(`platform find ${redeemCode} --dry-run --base-url ${baseUrl}`, { env: secrets })
  expect([ran.exit, received]).toEqual([0, []])
  expect(ran.stdout + ran.stderr).not.toContain(redeemCode)
})
