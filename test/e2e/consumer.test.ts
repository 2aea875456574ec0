import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folder, run } from './installed.js'

const file = join(folder, 'consumer.mjs')

const running = `import { createServer } from 'node:http'
import { createClient, createPoolTransport } from 'voucherctl/client'

const baseUrl = 'http://127.0.0.1:1'
const pool = await createPoolTransport(baseUrl)
const retry = { tries: 1 }
const credential = { type: 'redeem_code', value: 'X' }
const results = [
  await createClient({ baseUrl, retry }).vouchers.verify({ credential }),
  await createClient({ baseUrl, retry, transport: pool.send }).vouchers.redeem({ credential }),
]
await pool.close()
let heads = []
const proxy = createServer((request, response) => {
  heads.push([request.url, request.headers['x-trace']])
  response.end('{"success":true,"data":{"items":[{"id":"t"}],"pagination":{"pages":2}}}')
})
proxy.on('connect', ({ method, url }, socket) => {
  heads.push([method, url])
  socket.end('HTTP/1.1 407 Proxy Authentication Required\\r\\n\\r\\n')
})
await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve))
process.env.HTTP_PROXY = process.env.HTTPS_PROXY = \`http://ann:CANARY@127.0.0.1:\${proxy.address().port}\`
let ids = []
for (const remote of ['http://vouchers.example', 'https://vouchers.example']) {
  const remotePool = await createPoolTransport(remote)
  for (const transport of [undefined, remotePool.send]) {
    const client = createClient({ baseUrl: remote, retry, ...(transport && { transport }) })
    try {
      for await (const { items } of client.templates.list.pages({}, { headers: { 'x-trace': 't' } })) ids.push(items[0].id)
    } catch (error) {
      ids.push(error.code, /CANARY|ann:/.test(error.stack))
    }
  }
  await remotePool.close()
}
proxy.close()
proxy.closeAllConnections()
console.error(JSON.stringify({ ids, heads }))
console.log(JSON.stringify(results.map(({ code, outcomeUnknown }) => ({ code, outcomeUnknown }))))
`

beforeAll(() => writeFileSync(file, running))
afterAll(() => rmSync(file, { force: true }))

test('voucherctl/client returns failures, pages and headers with and without pool and proxy', async () => {
  const { stdout, stderr, exitCode } = await run('consumer.mjs')
  expect(exitCode).toBe(0)
  const { ids, heads } = JSON.parse(stderr)
  expect(ids).toEqual(['t', 't', 't', 't', 'NETWORK_ERROR', false, 'NETWORK_ERROR', false])
  const url = 'http://vouchers.example/api/v1/open-platform/vouchers/templates?page='
  const plain = [1, 2, 1, 2].map((page) => [`${url}${page}`, 't'])
  expect(heads).toEqual([...plain, ...Array(2).fill(['CONNECT', 'vouchers.example:443'])])
  const refused = { code: 'NETWORK_ERROR', outcomeUnknown: false }
  expect(JSON.parse(stdout)).toEqual([refused, refused])
})
