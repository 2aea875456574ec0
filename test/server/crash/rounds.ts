import { join } from 'node:path'
import { expect } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { closeDatabase, openDatabase } from '../../../src/store/sqlite/engine.js'
import { type ServerChild, startServerChild } from '../../support/server/child.js'
import type { ApiResponse } from '../../support/server/client.js'
import { codeOf, newTenant, Tenant } from '../../support/server/tenant.js'

const at = (server: ServerChild, { accountId, jwt, appId, token, tokenId }: Tenant) =>
  new Tenant(server, accountId, jwt, appId, token, tokenId)

/**
 * Repeatedly kills a server while 8 clients issue and redeem vouchers, restarts it, and requires that it lost and
 * repeated no call.
 * @param killedAfter for each round, the number of responses after which the server is killed
 */
export async function crashRounds(dataDir: string, killedAfter: readonly number[]): Promise<void> {
  let server = await startServerChild(dataDir)
  const first = await newTenant(server)
  const { id: templateId } = await first.template({ issue_limit: 1_000_000 })
  const redemptions = new Map<string, string>()

  for (const [round, killAt] of killedAfter.entries()) {
    const tenant = at(server, first)
    const responses = new Map<string, ApiResponse>()
    const calls = new Map<string, () => Promise<ApiResponse>>()
    let killing: Promise<void> | undefined
    const settle = async (key: string, call: (to: Tenant) => Promise<ApiResponse>): Promise<ApiResponse> => {
      calls.set(key, () => call(at(server, first)))
      const response = await call(tenant)
      responses.set(key, response)
      if (responses.size === killAt) killing = server.kill()
      return response
    }
    const clerk = async (name: string) => {
      for (let n = 0; killing === undefined; n++) {
        const [issueKey, redeemKey] = [`i-${round}-${name}-${n}`, `r-${round}-${name}-${n}`]
        const input = { template_id: templateId, external_issue_id: issueKey, recipient_user_id: 'u' }
        const issued = await settle(issueKey, (to) => to.runtime(contract.vouchers.issue, input, { key: issueKey }))
        const credential = codeOf((issued as ApiResponse<Parameters<typeof codeOf>[0]>).data)
        await settle(redeemKey, (to) => to.runtime(contract.vouchers.redeem, { credential }, { key: redeemKey }))
      }
    }
    // Each client stops with an error when the kill breaks its connection.
    await Promise.allSettled(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(clerk))
    await killing
    expect(responses.size).toBeGreaterThanOrEqual(killAt)

    server = await startServerChild(dataDir)
    for (const [key, call] of calls) {
      const again = await call()
      const before = responses.get(key)
      expect([key, again.envelope.success]).toEqual([key, true])
      if (before === undefined) continue
      expect([key, again.status, again.sameness]).toEqual([key, before.status, before.sameness])
      expect(again.headers['idempotent-replayed']).toBe('true')
    }
    for (const [key, call] of calls) {
      if (!key.startsWith('r')) continue
      const { id, voucherId } = ((await call()) as ApiResponse<{ id: string; voucherId: string }>).data
      expect(redemptions.has(voucherId)).toBe(false)
      redemptions.set(voucherId, id)
    }
  }

  const [template] = (await at(server, first).runtime(contract.templates.list, {})).data.items
  await server.kill()
  const db = openDatabase(join(dataDir, 'voucherctl.db'))
  const number = (sql: string) => Object.values(db.prepare(sql).get() as object)[0] as number
  expect(db.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' })
  expect(number('select count(*) from vouchers')).toBe(template?.issuedCount)
  expect(number('select count(*) from redemptions where reversed_at is null')).toBe(redemptions.size)
  expect(number("select count(*) from vouchers where state = 'redeemed'")).toBe(redemptions.size)
  closeDatabase(db)
}
