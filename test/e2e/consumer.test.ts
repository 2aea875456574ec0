import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folder, run } from './installed.js'

const file = join(folder, 'consumer.mjs')

const running = `import { createClient, createPoolTransport } from 'voucherctl/client'

const baseUrl = 'http://127.0.0.1:1'
const pool = await createPoolTransport(baseUrl)
const retry = { tries: 1 }
const credential = { type: 'redeem_code', value: 'X' }
const results = [
  await createClient({ baseUrl, retry }).vouchers.verify({ credential }),
  await createClient({ baseUrl, retry, transport: pool.send }).vouchers.redeem({ credential }),
]
await pool.close()
console.log(JSON.stringify(results.map(({ code, outcomeUnknown }) => ({ code, outcomeUnknown }))))
`

beforeAll(() => writeFileSync(file, running))
afterAll(() => rmSync(file, { force: true }))

test('voucherctl/client returns an unreachable server as a failure, with and without the pool', async () => {
  const { stdout, stderr, exitCode } = await run('consumer.mjs')
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
  const refused = { code: 'NETWORK_ERROR', outcomeUnknown: false }
  expect(JSON.parse(stdout)).toEqual([refused, refused])
})
