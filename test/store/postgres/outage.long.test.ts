import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { type PostgresServer, startPostgres } from '../../support/postgres/server.js'
import { wireSession } from '../../support/secure/wire.js'
import type { ApiResponse } from '../../support/server/client.js'
import { until } from '../../support/server/deliveries.js'
import { type LiveServer, standaloneServer, temporaryFolder } from '../../support/server/server.js'
import { tcpGate } from '../../support/server/tcp-gate.js'
import { codeOf, newTenant, type Tenant } from '../../support/server/tenant.js'

/** A separate PostgreSQL server with fsync on, which the tests stop and kill. */
let postgres: PostgresServer
/** Data folder of the voucher server, with its credential keys. */
const dataDir = temporaryFolder()
beforeAll(async () => {
  postgres = await startPostgres({ durable: true })
})
afterAll(async () => {
  await postgres.remove()
  rmSync(dataDir, { recursive: true, force: true })
})

const live = async (url: string): Promise<LiveServer> => {
  const server = await standaloneServer({ dataDir, databaseUrl: url, testClock: false })
  onTestFinished(() => server.close())
  return server
}

/** Clients that issue and redeem until stopped; each repeats a failed call with its idempotency key. */
class Load {
  readonly responses = new Map<string, ApiResponse>()
  readonly calls = new Map<string, () => Promise<ApiResponse>>()
  /** Responses to failed calls. */
  readonly refusals: ApiResponse[] = []
  #over = false
  #clerks: Promise<unknown> = Promise.resolve()

  start(tenant: Tenant, templateId: string, clerks: number): void {
    this.#clerks = Promise.all(Array.from({ length: clerks }, (_, index) => this.#clerk(tenant, templateId, index)))
  }

  async stop(): Promise<void> {
    this.#over = true
    await this.#clerks
  }

  async #clerk(tenant: Tenant, templateId: string, index: number): Promise<void> {
    for (let n = 0; !this.#over; n++) {
      const key = `${index}-${n}`
      const input = { template_id: templateId, external_issue_id: key, recipient_user_id: 'u' }
      const issued = await this.#settle(`i-${key}`, () =>
        tenant.runtime(contract.vouchers.issue, input, { key: `i-${key}` }),
      )
      const credential = codeOf((issued as ApiResponse<Parameters<typeof codeOf>[0]>).data)
      await this.#settle(`r-${key}`, () =>
        tenant.runtime(contract.vouchers.redeem, { credential }, { key: `r-${key}` }),
      )
    }
  }

  async #settle(key: string, call: () => Promise<ApiResponse>): Promise<ApiResponse> {
    this.calls.set(key, call)
    for (;;) {
      const response = await call()
      if (response.code === null) {
        this.responses.set(key, response)
        return response
      }
      this.refusals.push(response)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** Expects every refusal during an outage of PostgreSQL to be a 503 with Retry-After. */
function expectOutage(refusals: readonly ApiResponse[]): void {
  const kinds = new Set(refusals.map((it) => `${it.status} ${it.code} ${it.headers['retry-after'] ?? 'none'}`))
  expect(kinds).toEqual(new Set(['503 SERVICE_UNAVAILABLE 1']))
}

describe('PostgreSQL restarted under load', () => {
  it.each(['stopped', 'killed'] as const)(
    'server whose PostgreSQL is %s returns 503, recovers, and loses or repeats no call',
    async (how) => {
      const server = await live(postgres.url)
      const tenant = await newTenant(server)
      const { id: templateId } = await tenant.template({ issue_limit: 100_000 })
      const load = new Load()
      load.start(tenant, templateId, 8)
      await until(() => load.responses.size > 60)

      if (how === 'killed') postgres.kill()
      await postgres.stop()
      await until(() => load.refusals.length > 0)
      expect((await server.send({ method: 'GET', path: '/readyz' })).status).toBe(503)
      expect((await server.send({ method: 'GET', path: '/healthz' })).status).toBe(200)
      await postgres.start()
      expect((await tenant.runtime(contract.templates.list, {})).code).toBe(null)
      const before = load.responses.size
      await until(() => load.responses.size > before + 20)
      await load.stop()

      expectOutage(load.refusals)
      const redeemed = new Set<string>()
      for (const [key, call] of load.calls) {
        const again = await call()
        const first = load.responses.get(key) as ApiResponse
        expect([key, again.status, again.sameness]).toEqual([key, first.status, first.sameness])
        expect(again.headers['idempotent-replayed']).toBe('true')
        if (key.startsWith('r')) redeemed.add((again as ApiResponse<{ voucherId: string }>).data.voucherId)
      }
      expect(redeemed.size).toBe(load.calls.size / 2)
      const [template] = (await tenant.runtime(contract.templates.list, {})).data.items
      expect(template?.issuedCount).toBe(load.calls.size / 2)
    },
  )
})

describe('PostgreSQL crash', () => {
  it('crash of PostgreSQL loses sessions and replay marks, no transport key', { tags: 'replay-marks/1' }, async () => {
    const server = await live(postgres.url)
    const tenant = await newTenant(server)
    const client = { now: Date.now }
    const before = await wireSession(server.send, client)
    const headers = { authorization: `Bearer ${tenant.token}` }
    const call = { method: 'GET', path: contract.templates.list.path, headers }
    const sent = before.seal(call)
    expect(before.open(sent, await server.send(sent)).status).toBe(200)
    expect((await server.send(sent)).code).toBe('REQUEST_REPLAYED')

    postgres.kill()
    await postgres.stop()
    await postgres.start()
    await until(async () => (await server.send({ method: 'GET', path: '/readyz' })).status === 200)
    // If the session survived without its replay marks, the server would accept the recorded request again.
    expect((await server.send(sent)).code).toBe('SECURE_SESSION_EXPIRED')
    expect((await server.send(before.seal(call))).code).toBe('SECURE_SESSION_EXPIRED')
    const after = await wireSession(server.send, client)
    expect((await after.call(call)).status).toBe(200)
    expect(after.kid).toBe(before.kid)
  })
})

describe('PostgreSQL that does not respond', () => {
  it('calls get 503 while PostgreSQL does not respond, and succeed later', { tags: 'failure-codes/3' }, async () => {
    const gate = await tcpGate(postgres.port)
    onTestFinished(() => gate.remove())
    const server = await live(postgres.url.replace(`:${postgres.port}/`, `:${gate.port}/`))
    const tenant = await newTenant(server)
    const { id: templateId } = await tenant.template({ issue_limit: 100_000 })
    const load = new Load()
    load.start(tenant, templateId, 8)
    await until(() => load.responses.size > 20)
    gate.freeze()
    await until(() => load.refusals.length >= 8)
    gate.thaw()
    const before = load.responses.size
    await until(() => load.responses.size > before + 20)
    await load.stop()
    expectOutage(load.refusals)
    const [template] = (await tenant.runtime(contract.templates.list, {})).data.items
    expect(template?.issuedCount).toBe(load.calls.size / 2)
  })
})
