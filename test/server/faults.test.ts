import process from 'node:process'
import { expect, it, onTestFinished, vi } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { Faults } from '../../src/server/faults.js'
import { testFaultSources } from '../support/server/app.js'
import { callerOf } from '../support/server/client.js'
import { bearerLine, getBytes, RawConnection } from '../support/server/raw.js'
import { standaloneServer } from '../support/server/server.js'
import { newTenant } from '../support/server/tenant.js'

it('fault with a share affects the calls whose random number is below it, and is not used up', async () => {
  const shares = [0.1, 0.2499, 0.25, 0.9, 0]
  const random = () => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(Math.floor((shares.shift() ?? 1) * 2 ** 32))
    return bytes
  }
  const faults = new Faults({ ...testFaultSources, random })
  const quarter = { endpoint: 'apps.list', kind: 'error', share: 0.25 } as const
  faults.add(quarter)
  const call = async () =>
    'code' in
    (await faults.run(
      'apps.list',
      async () => ({ ok: true }),
      () => {},
    ))
      ? 503
      : 200
  expect([await call(), await call(), await call(), await call(), await call()]).toEqual([503, 503, 200, 200, 503])
  expect(faults.list()).toEqual([{ ...quarter, times: null, delay_ms: null, id: 'flt_1', left: null }])
})

it('20 concurrent calls with a delay fault cause no MaxListenersExceededWarning', async () => {
  const warnings: Error[] = []
  // Another part of the process may cause a warning of another kind.
  const note = (it: Error) => it.name === 'MaxListenersExceededWarning' && warnings.push(it)
  process.on('warning', note)
  const faults = new Faults(testFaultSources)
  await Promise.all(Array.from({ length: 20 }, () => faults.delay(1)))
  process.off('warning', note)
  expect(warnings).toEqual([])
})

it('after its client disconnects, a call with a delay fault ends before the store closes', async () => {
  const live = await standaloneServer()
  const tenant = await newTenant(live)
  const { id: endpoint, path } = contract.apps.list
  const fault = { endpoint, kind: 'delay', times: 1, delay_ms: 60_000 } as const
  await callerOf(live.send, live.operatorKey)(contract.platform.addFault, fault)
  const track = vi.spyOn(Faults.prototype, 'track')
  onTestFinished(() => track.mockRestore())
  const client = await RawConnection.to(live.port)
  client.write(getBytes(path, bearerLine(tenant.jwt)))
  await vi.waitUntil(() => track.mock.calls.length > 0, 30_000)
  client.reset()
  await live.close()
  const call = track.mock.results[0]?.value as Promise<unknown>
  expect(await Promise.race([call, 'still delayed'])).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(live.logs.filter((line) => JSON.parse(line).level >= 40)).toEqual([])
})
