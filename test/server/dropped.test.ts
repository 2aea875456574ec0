import { expect, it, vi } from 'vitest'
import { contract } from '../../src/contract/index.js'
import type { RequestLogEntry } from '../../src/contract/platform/activity.js'
import { bearerLine, getBytes, RawConnection } from '../support/server/raw.js'
import { liveServer } from '../support/server/server.js'
import { codeOf, newTenant } from '../support/server/tenant.js'

it('server logs and counts a call even if a fault drops its response', async () => {
  const live = await liveServer()
  try {
    const tenant = await newTenant(live)
    const voucher = await tenant.issue()
    const redeem = () => tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) })
    await tenant.operator(contract.platform.addFault, { endpoint: 'vouchers.redeem', kind: 'drop_response', times: 2 })
    await expect(redeem()).rejects.toMatchObject({ code: 'ECONNRESET' })
    await expect(redeem()).rejects.toMatchObject({ code: 'ECONNRESET' })

    const log = await live.send({
      method: 'GET',
      path: contract.platform.requests.path,
      headers: { authorization: `Bearer ${live.operatorKey}` },
    })
    const entries = log.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as RequestLogEntry)
    expect(entries.filter(({ endpoint }) => endpoint === 'vouchers.redeem')).toMatchObject([
      { status: 200, code: null, application_id: tenant.appId },
      { status: 409, code: 'VOUCHER_ALREADY_REDEEMED', application_id: tenant.appId },
    ])
    const metrics = (await live.send({ method: 'GET', path: '/metrics' })).text
    const counted = metrics.split('\n').filter((line) => line.includes('_total{') && line.includes('vouchers.redeem'))
    expect(counted.map((line) => /status="(\d+)".* (\d+)$/.exec(line)?.slice(1))).toEqual([
      ['200', '1'],
      ['409', '1'],
    ])
  } finally {
    await live.close()
  }
})

it('server logs a call whose client disconnected before the response', async () => {
  const live = await liveServer()
  try {
    const tenant = await newTenant(live)
    await tenant.operator(contract.platform.addFault, {
      endpoint: 'templates.list',
      kind: 'delay',
      times: 1,
      delay_ms: 50,
    })
    const connection = await RawConnection.to(live.port)
    connection.write(getBytes(contract.templates.list.path, bearerLine(tenant.token)))
    await live.send({ method: 'GET', path: '/healthz' })
    connection.destroy()
    await vi.waitFor(() => expect(live.logs.filter((line) => line.includes('templates.list'))).toHaveLength(1), 30_000)
  } finally {
    await live.close()
  }
})
