import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { closeDatabase, openDatabase } from '../../../src/store/sqlite/engine.js'
import { startServerChild } from '../../support/server/child.js'
import { newReceiver, SECRET, until } from '../../support/server/deliveries.js'
import { newTenant } from '../../support/server/tenant.js'

/**
 * Kills a server while it sends webhook deliveries and compares what the receiver got with the database.
 * @param updates a multiple of 50
 * @param killedAfter numbers of received deliveries: the server is killed and restarted when it reaches each of them
 */
export async function crashInDeliveries(
  dataDir: string,
  updates: number,
  killedAfter: readonly number[],
): Promise<void> {
  const receiver = await newReceiver()
  const start = () => startServerChild(dataDir, 'trace', true, receiver.port)
  let server = await start()
  const tenant = await newTenant({ send: (request) => server.send(request), operatorKey: server.operatorKey })
  const bot = await tenant.bot()
  const ping = () => tenant.operator(contract.platform.addUpdate, { botId: bot.id, type: 'ping' })
  for (let made = 0; made < updates; made += 50) await Promise.all(Array.from({ length: 50 }, ping))

  let killing: Promise<void> | undefined
  let killAt = killedAfter[0]
  // Fail the first attempt of every hundredth update, so that retries are scheduled at each restart.
  receiver.respond = async ({ updateId }) => {
    const calls = receiver.calls.length
    if (killAt !== undefined && calls >= killAt) killing ??= server.kill()
    await new Promise((resolve) => setImmediate(resolve))
    return updateId % 100 === 0 && calls <= updates / 2 ? 500 : 200
  }
  const output: string[] = []
  const set = await tenant.console(contract.webhook.set, { botId: bot.id, url: receiver.url, secret_token: SECRET })
  expect(set.data.pending_update_count).toBe(updates)
  for (const [round] of killedAfter.entries()) {
    await until(() => killing !== undefined)
    await killing
    output.push(server.output())
    killing = undefined
    killAt = killedAfter[round + 1]
    server = await start()
    await tenant.operator(contract.platform.advanceClock, { seconds: 3_600 })
  }
  const pending = async () => (await bot.call(contract.webhook.info, {})).data.pending_update_count
  await until(async () => {
    await tenant.operator(contract.platform.advanceClock, { seconds: 60 })
    return (await pending()) === 0
  })
  output.push(server.output())
  await server.kill()

  const bytes = new Map<number, Buffer>()
  for (const { updateId, body, headers } of receiver.calls) {
    expect(headers['x-platform-update-id']).toBe(String(updateId))
    expect(body.equals(bytes.get(updateId) ?? body)).toBe(true)
    bytes.set(updateId, body)
  }
  expect([...bytes.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: updates }, (_, index) => index + 1))

  const db = openDatabase(join(dataDir, 'voucherctl.db'))
  const number = (sql: string) => Object.values(db.prepare(sql).get() as object)[0] as number
  expect(db.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' })
  expect(number("select count(*) from deliveries where status = 'delivered'")).toBe(updates)
  const lost = number("select count(*) from delivery_attempts where error_code = 'lease_expired'")
  expect(lost).toBeGreaterThanOrEqual(killedAfter.length)
  // An attempt interrupted by a kill is recorded too, and exactly once.
  expect(number('select sum(attempt_count) from deliveries')).toBe(number('select count(*) from delivery_attempts'))
  expect(number('select count(*) from delivery_attempts where error_code is null')).toBe(updates)
  expect(number('select count(*) from deliveries where attempt_count > 5')).toBe(0)
  closeDatabase(db)

  for (const secret of [SECRET, '/hook']) {
    expect(output.filter((it) => it.includes(secret))).toEqual([])
    expect(readdirSync(dataDir).filter((name) => readFileSync(join(dataDir, name)).includes(secret))).toEqual([])
  }
}
