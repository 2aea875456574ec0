import { rmSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { takeDatabase } from '../../support/postgres/database.js'
import { newChat, say } from '../../support/server/chats.js'
import { type ServerChild, startServerChild } from '../../support/server/child.js'
import type { ApiResponse } from '../../support/server/client.js'
import { newReceiver, until } from '../../support/server/deliveries.js'
import { at, serverPair, tally } from '../../support/server/pair.js'
import { temporaryFolder } from '../../support/server/server.js'
import { codeOf, newTenant, type Tenant } from '../../support/server/tenant.js'

const servers = serverPair()

describe('races between two processes', () => {
  it('1,000 concurrent issues against a quota of 100 create 100 vouchers', async () => {
    const tenant = await newTenant(servers.first)
    const { id } = await tenant.template({ issue_limit: 100 })
    const responses = await servers.spread(1_000, tenant, (to, index) =>
      to.runtime(contract.vouchers.issue, { template_id: id, external_issue_id: `o-${index}`, recipient_user_id: 'u' }),
    )
    expect(tally(responses)).toEqual({ null: 100, TEMPLATE_QUOTA_EXHAUSTED: 900 })
  })
})

describe('deliveries of several processes', () => {
  it('several processes send each delivery once, in the order of its chat', { tags: 'delivery-order/1' }, async () => {
    const receiver = await newReceiver()
    // Start separate servers: the servers of the other tests may not deliver to the loopback receiver.
    const [own, keys] = [takeDatabase(), temporaryFolder()]
    const startOwn = async () => startServerChild(keys, 'silent', true, receiver.port, await own.url)
    const both = [await startOwn(), await startOwn()]
    try {
      const tenant = await newTenant(both[0] as ServerChild)
      const bot = await tenant.bot()
      const set = await tenant.console(contract.webhook.set, { botId: bot.id, url: receiver.url })
      expect(set.code).toBe(null)
      const chats = await Promise.all(Array.from({ length: 4 }, () => newChat(tenant, bot)))
      for (let round = 0; round < 10; round++) {
        await Promise.all(
          chats.map((chat, index) => say(at(both[index % 2] as ServerChild, tenant), chat, `text ${round}`)),
        )
      }
      await until(() => receiver.calls.length >= 44)
      const ids = receiver.calls.map((it) => it.updateId)
      expect([...ids].sort((a, b) => a - b)).toEqual(Array.from({ length: 44 }, (_, index) => index + 1))
      const byChat = new Map<string, number[]>()
      for (const { body, updateId } of receiver.calls) {
        const update = JSON.parse(body.toString('utf8')) as { message?: { chat: { id: string } } }
        const chat = update.message?.chat.id
        if (chat !== undefined) byChat.set(chat, [...(byChat.get(chat) ?? []), updateId])
      }
      for (const order of byChat.values()) expect(order).toEqual([...order].sort((a, b) => a - b))
    } finally {
      await Promise.all(both.map((it) => it.kill()))
      own.release()
      rmSync(keys, { recursive: true, force: true })
    }
  })
})

describe('two processes killed in turn under load', () => {
  it('two processes killed in turn lose or repeat no call; retries work', { tags: 'idempotency-keys/5' }, async () => {
    const both = [servers.first, servers.second] as [ServerChild, ServerChild]
    const tenant = await newTenant(both[0])
    const { id: templateId } = await tenant.template({ issue_limit: 100_000 })
    const responses = new Map<string, ApiResponse>()
    const calls = new Map<string, (to: Tenant) => Promise<ApiResponse>>()
    let over = false
    const settle = async (
      key: string,
      index: number,
      call: (to: Tenant) => Promise<ApiResponse>,
    ): Promise<ApiResponse> => {
      calls.set(key, call)
      for (;;) {
        try {
          const response = await call(at(both[index] as ServerChild, tenant))
          if (response.status === 503) continue
          responses.set(key, response)
          return response
        } catch {
          // The connection is lost: repeat the call at the restarted process.
          await setTimeout(20)
        }
      }
    }
    const clerk = async (index: number, name: string) => {
      for (let n = 0; !over; n++) {
        const key = `${name}-${n}`
        const input = { template_id: templateId, external_issue_id: key, recipient_user_id: 'u' }
        const issued = await settle(`i-${key}`, index, (to) =>
          to.runtime(contract.vouchers.issue, input, { key: `i-${key}` }),
        )
        const credential = codeOf((issued as ApiResponse<Parameters<typeof codeOf>[0]>).data)
        await settle(`r-${key}`, index, (to) =>
          to.runtime(contract.vouchers.redeem, { credential }, { key: `r-${key}` }),
        )
      }
    }
    const clerks = Promise.all(['a', 'b', 'c', 'd'].map((name, index) => clerk(index % 2, name)))
    for (let round = 0; round < 4; round++) {
      const before = responses.size
      await until(() => responses.size > before + 20)
      await both[round % 2]?.kill()
      both[round % 2] = await servers.start()
      ;[servers.first, servers.second] = both
    }
    over = true
    await clerks
    const vouchers = new Set<string>()
    const repeats = await Promise.all(
      [...calls].map(async ([key, call]) => [key, await call(at(both[0], tenant))] as const),
    )
    for (const [key, again] of repeats) {
      expect([key, again.status, again.sameness]).toEqual([
        key,
        responses.get(key)?.status,
        responses.get(key)?.sameness,
      ])
      expect(again.headers['idempotent-replayed']).toBe('true')
      if (key.startsWith('r')) vouchers.add((again as ApiResponse<{ voucherId: string }>).data.voucherId)
    }
    expect(vouchers.size).toBe(calls.size / 2)
    const [template] = (await at(both[1], tenant).runtime(contract.templates.list, {})).data.items
    expect(template?.issuedCount).toBe(calls.size / 2)
  })
})
