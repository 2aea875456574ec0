import { expect, it, onTestFinished, vi } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { type FaultedCall, Faults } from '../../src/server/faults.js'
import { Waits } from '../../src/server/waits.js'
import { testFaultSources } from '../support/server/app.js'
import { callerOf } from '../support/server/client.js'
import { bearerLine, getBytes, RawConnection } from '../support/server/raw.js'
import { standaloneServer } from '../support/server/server.js'
import { newTenant } from '../support/server/tenant.js'

it('fault with a share affects calls by their random number, and is not used up', { tags: 'faults/2' }, async () => {
  const shares = [0.1, 0.2499, 0.25, 0.9, 0]
  const random = () => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(Math.floor((shares.shift() ?? 1) * 2 ** 32))
    return bytes
  }
  const faults = new Faults({ ...testFaultSources, random })
  const quarter = { endpoint: 'apps.list', kind: 'error', share: 0.25 } as const
  faults.add(quarter)
  const unused = () => {
    throw new Error('the kind error does nothing to the connection')
  }
  const request = {
    requestId: 'req_1',
    host: '',
    path: '',
    body: {},
    cut: unused,
    hold: unused,
    gone: unused,
    note: () => {},
  }
  const call = async () => {
    const result = await faults.run(
      'apps.list',
      (work) => work(),
      async () => ({ ok: true }),
      request,
    )
    return 'code' in result ? 503 : 200
  }
  expect([await call(), await call(), await call(), await call(), await call()]).toEqual([503, 503, 200, 200, 503])
  expect(faults.list()).toEqual([{ ...quarter, times: null, delay_ms: null, id: 'flt_1', left: null }])
})

it('after its client disconnects, a call with a delay fault ends before the store closes', async () => {
  const live = await standaloneServer()
  const tenant = await newTenant(live)
  const { id: endpoint, path } = contract.apps.list
  const fault = { endpoint, kind: 'delay', times: 1, delay_ms: 60_000 } as const
  await callerOf(live.send, live.operatorKey)(contract.platform.addFault, fault)
  const begin = vi.spyOn(Waits.prototype, 'begin')
  onTestFinished(() => begin.mockRestore())
  const client = await RawConnection.to(live.port)
  client.write(getBytes(path, bearerLine(tenant.jwt)))
  await vi.waitUntil(() => begin.mock.calls.length > 0, 30_000)
  client.reset()
  await live.close()
  const { ended } = begin.mock.results[0]?.value as ReturnType<Waits['begin']>
  expect(await Promise.race([ended, 'still delayed'])).toBe('suspended')
  expect(live.logs.filter((line) => JSON.parse(line).level >= 40)).toEqual([])
})

it.each([
  ['hold', 'time'],
  ['hold', 'released'],
  ['silence', 'time'],
  ['silence', 'gone'],
  ['hang', 'time'],
  ['hang', 'gone'],
  ['hang', 'suspended'],
] as const)('onWaitEnd reports a %s that ended by "%s"', async (kind, end) => {
  const faults = new Faults(testFaultSources)
  const ends: unknown[] = []
  const stop = faults.onWaitEnd((...heard) => ends.push(heard))
  const client = new AbortController()
  let headEnd: Promise<unknown> | undefined
  const call: FaultedCall = {
    ...{ requestId: 'req_1', host: '', path: '/', body: {}, cut: () => {}, note: () => {} },
    hold(_at, wait) {
      headEnd = wait()
    },
    gone: () => client.signal,
  }
  const run = async () => {
    faults.add({ endpoint: 'apps.list', kind, hold_ms: end === 'time' ? 1 : 3_600_000 })
    const work = async () => ({ ok: true })
    const running = faults.run('apps.list', (it) => it(), work, call)
    // Without a hang the wait begins after the work.
    await new Promise((resolve) => setImmediate(resolve))
    if (end === 'released') faults.release(() => true)
    if (end === 'gone') client.abort()
    if (end === 'suspended') faults.suspend()
    await running
    await headEnd
  }
  await run()
  expect(ends).toEqual([['req_1', kind, end]])
  stop()
  await run()
  expect(ends).toHaveLength(1)
})
