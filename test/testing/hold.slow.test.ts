import { fileURLToPath } from 'node:url'
import { execaNode } from 'execa'
import { expect, test } from 'vitest'
import { contract } from '../../src/contract/index.js'

const library = fileURLToPath(new URL('../../dist/testing/index.cjs', import.meta.url))

/**
 * Holds calls on sockets of their own, 100 concurrently, at each place. One third is released, one third goes on after
 * its time, and of one third the client ends.
 */
const program = `
  import { readdirSync } from 'node:fs'
  import { request } from 'node:http'
  const { startServer } = await import(${JSON.stringify(library)})
  const server = await startServer()
  const url = server.baseUrl + ${JSON.stringify(contract.vouchers.verify.path)}
  const headers = { authorization: 'Bearer ' + server.token, 'content-type': 'application/json' }
  const credential = { type: 'redeem_code', value: 'M9S3-46Q3-D25V-T4FJ' }
  const places = ['received', 'before', 'committed', 'answered']
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  const use = async (n) => {
    const member = { recipient_user_id: 'user-' + n }
    const at = places[Math.floor(n / 3) % 4]
    const held = await server.hold('vouchers.verify', { at, match: { body: member }, hold_ms: n % 3 === 1 ? 1 : 600_000 })
    const call = request(url, { method: 'POST', agent: false, headers })
    const ended = new Promise((resolve) => {
      call.on('response', (response) => response.on('error', () => {}).on('close', () => resolve(response.statusCode)).resume())
      call.on('error', () => resolve('no response'))
    })
    call.end(JSON.stringify({ credential, ...member }))
    await held.call
    if (n % 3 === 0) held.release()
    if (n % 3 === 2) call.destroy()
    return ended
  }
  const useMany = async (calls) => {
    const counts = {}
    for (let n = 0; n < calls; n += 100) {
      const ends = await Promise.all(Array.from({ length: 100 }, (_, i) => use(n + i)))
      for (const it of ends) counts[it] = (counts[it] ?? 0) + 1
      while ((await server.operator.faults()).data.held.length > 0) await turn()
    }
    return counts
  }
  const kept = () => {
    const handles = process.getActiveResourcesInfo().filter((it) => it !== 'Immediate').sort()
    const listeners = process.eventNames().map((it) => [String(it), process.listenerCount(it)])
    return { handles, listeners, files: readdirSync('/proc/self/fd').length }
  }
  const bytes = async () => {
    await turn()
    gc()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const before = kept()
  // V8 compiles, and the log of requests gets full.
  await useMany(1_000)
  const first = await bytes()
  const counts = await useMany(1_000)
  // The last sockets close after their calls. If one never does, the test ends with its own limit.
  while (kept().files > before.files) await turn()
  const grownPerCall = ((await bytes()) - first) / 1_000
  process.send({ before, after: kept(), counts, grownPerCall })
  await server.close()`

test('1,000 held calls leave no descriptor, timer, listener and memory behind', async () => {
  const child = execaNode({
    nodeOptions: ['--expose-gc', '--input-type=module'],
    ipc: true,
    input: program,
  })('-')
  const message = child.getOneMessage() as Promise<Record<string, unknown>>
  const [{ before, after, counts, grownPerCall }, { stdout, stderr }] = await Promise.all([message, child])
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' })
  expect(after).toEqual(before)
  expect(counts).toEqual({ 404: 667, 'no response': 333 })
  // A held call that stays takes 8,000 bytes; calls without holds grow by 500, because caches still fill.
  expect(grownPerCall).toBeLessThan(2_000)
})
