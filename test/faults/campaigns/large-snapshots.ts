import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { contract } from '../../../src/contract/index.js'
import { query } from '../../support/postgres/query.js'
import { startPostgres } from '../../support/postgres/server.js'
import { type ApiResponse, callerOf } from '../../support/server/client.js'
import { codeOf, newTenant, type Tenant } from '../../support/server/tenant.js'
import type { Campaign, Run } from '../campaign.js'
import { killServers, memoryOf, type Server, startServer, tenantAt } from '../server.js'

const SAVE_S_MAX = 60
const RESTORE_S_MAX = 120
const DELAY_MS_MAX = 100
const RECOVERY_MS_MAX = 5_000
const GROWTH_MIB_MAX = 64

const MEANWHILE = 'a call got 503 while a restore ran'
const ROLLED_BACK = 'a killed restore was rolled back'

/** Copies the only voucher with its idempotency record `count` times. */
const multiply = (count: number) => `
  insert into vouchers select r.* from (select * from vouchers limit 1) v, generate_series(1, ${count}) n,
    jsonb_populate_record(null::vouchers, to_jsonb(v) || jsonb_build_object('id', v.id || n,
      'external_issue_id', 'order-' || n, 'issue_idempotency_key', 'copy-' || n,
      'redeem_code_hash', encode(sha256(('c' || n)::bytea), 'base64'),
      'qr_token_hash', encode(sha256(('q' || n)::bytea), 'base64'))) r;
  insert into idempotency_keys select r.* from (select * from idempotency_keys where subject_id like 'vch%' limit 1) k,
    generate_series(1, ${count}) n, jsonb_populate_record(null::idempotency_keys, to_jsonb(k) || jsonb_build_object(
      'idempotency_key', 'copy-' || n, 'fingerprint', md5(n::text), 'subject_id', k.subject_id || n)) r`

/** Clients of one tenant that issue and verify at several servers, one call after the other each. */
class Callers {
  readonly #loops: Promise<void>[]
  #isOver = false
  /** Longest duration of a successful call, in ms. */
  longest = 0
  succeeded = 0
  /** Numbers of 503 responses by server. */
  readonly refused: number[] = []
  readonly wrong: string[] = []

  constructor(tenants: readonly Tenant[], templateId: string, name: string, code: ReturnType<typeof codeOf>) {
    let issued = 0
    this.#loops = tenants.flatMap(({ runtime }, index) => {
      this.refused[index] = 0
      const issue = () =>
        runtime(contract.vouchers.issue, {
          template_id: templateId,
          external_issue_id: `${name}-${issued++}`,
          recipient_user_id: 'user-1',
        })
      return [
        this.#loop(index, issue),
        this.#loop(index, () => runtime(contract.vouchers.verify, { credential: code })),
      ]
    })
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#loops)
  }

  async #loop(server: number, call: () => Promise<ApiResponse>): Promise<void> {
    while (!this.#isOver) {
      const begun = performance.now()
      const response = await call().catch(() => null)
      const ms = performance.now() - begun
      if (response !== null && response.status < 300) {
        this.succeeded += 1
        this.longest = Math.max(this.longest, ms)
      } else if (response?.status === 503 && response.headers['retry-after'] !== undefined) {
        this.refused[server] = (this.refused[server] ?? 0) + 1
      } else if (response !== null) this.wrong.push(`a call got ${response.status} ${response.text}`)
      await wait(20)
    }
  }
}

/** Runs `work`; resolves to its result, its duration in s and how much memory the server took meanwhile, in MiB. */
async function measured<T>(server: Server, work: () => Promise<T>): Promise<{ done: T; s: number; grown: number }> {
  const before = memoryOf(server.pid) ?? 0
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, memoryOf(server.pid) ?? 0)
  }, 50)
  const begun = performance.now()
  const done = await work().finally(() => clearInterval(watch))
  return { done, s: Math.round((performance.now() - begun) / 100) / 10, grown: most - before }
}

export const largeSnapshots: Campaign = {
  row: 'R21',
  name: 'snapshots of a large PostgreSQL, servers killed during a restore',
  tags: ['snapshots/5'],
  requirement:
    'A save of PostgreSQL takes at most 60 s, a restore 120 s. A killed restore changes nothing. The machine must be quiet.',
  states: [MEANWHILE, ROLLED_BACK],

  async run({ quick, patience, random, folder, root, sometimes, say }: Run) {
    const count = quick ? 20_000 : 1_000_000
    const broken: string[] = []
    const expect = (holds: boolean, otherwise: string) => void (holds || broken.push(otherwise))
    const postgres = await startPostgres({ durable: true, flags: ['wal_level=replica'] })
    try {
      const start = () =>
        startServer(root, join(folder, 'data'), ['--rate-limit', 'off'], { VOUCHERCTL_DATABASE_URL: postgres.url })
      let first = await start()
      const second = await start()
      const large = await newTenant(first)
      const kept = await large.issue()
      say(`filling with ${count} vouchers`)
      await query(postgres.url, multiply(count))
      await query(postgres.url, 'vacuum analyze')
      const tenant = await newTenant(first)
      const { id } = await tenant.template({ issue_limit: 1_000_000_000 })
      const honest = await tenant.issue(id)
      const operate = () => callerOf(first.send, first.operatorKey)
      const callers = (name: string) =>
        new Callers([tenantAt(first, tenant), tenantAt(second, tenant)], id, name, codeOf(honest))

      const alone = callers('alone')
      await wait(quick ? 200 : 5_000)
      await alone.end()

      say('saving')
      const beside = callers('save')
      const saved = await measured(first, () => operate()(contract.platform.saveSnapshot, { name: 'one' }))
      await beside.end()
      expect(saved.done.status === 200, `the save got ${saved.done.status} ${saved.done.text}`)
      expect(saved.s <= SAVE_S_MAX * patience, `the save took ${saved.s} s`)
      // In the short form, other work delays calls as long also without a save.
      const longestMax = Math.max(DELAY_MS_MAX * patience, quick ? alone.longest : 0)
      expect(beside.longest <= longestMax, `a call beside the save took ${beside.longest} ms`)
      expect(
        beside.refused.every((it) => it === 0),
        `${beside.refused} calls beside the save got 503`,
      )
      broken.push(...beside.wrong)

      await large.redeem(kept)
      const later = await tenant.issue(id)
      /** Repeats a call while it gets 503, at most for as long as a recovery may take. */
      const served = async <T extends ApiResponse>(call: () => Promise<T>): Promise<T> => {
        const until = performance.now() + RECOVERY_MS_MAX * patience
        for (;;) {
          const response = await call()
          if (response.status !== 503 || performance.now() > until) return response
          await wait(100)
        }
      }
      /** Which of two states a server serves: what it says of a voucher redeemed, and one issued, after the save. */
      const stateAt = async (server: Server) => {
        const verify = (owner: Tenant, voucher: typeof kept) =>
          served(() => tenantAt(server, owner).runtime(contract.vouchers.verify, { credential: codeOf(voucher) }))
        const [old, young] = [await verify(large, kept), await verify(tenant, later)]
        return [old, young].map((it) => (it.code === null ? it.data.voucher.status : it.code)).join(' ')
      }
      const [NEW, SAVED] = ['redeemed issued', 'issued VOUCHER_NOT_FOUND']
      const restore = () => operate()(contract.platform.restoreSnapshot, { name: 'one', shared: true })

      const recoveries: number[] = []
      for (let kills = 0; kills < (quick ? 1 : 3); kills++) {
        say('killing a server during a restore')
        void restore().catch(() => {})
        await wait(quick ? 100 : random.between(2_000, 15_000))
        await first.kill()
        const killed = performance.now()
        const seen = await stateAt(second)
        // A short restore may have ended before the kill.
        expect(seen === NEW || (quick && seen === SAVED), `after the kill the other server has ${seen}`)
        if (seen === NEW) sometimes.note(ROLLED_BACK)
        const input = { template_id: id, external_issue_id: `after-kill-${kills}`, recipient_user_id: 'user-1' }
        const issued = await served(() => tenantAt(second, tenant).runtime(contract.vouchers.issue, input))
        recoveries.push(performance.now() - killed)
        expect(issued.status === 201, `after the kill an issue got ${issued.status} ${issued.text}`)
        first = await start()
      }

      const times: number[] = []
      let grown = 0
      let refused = 0
      for (let round = 0; round < (quick ? 1 : 2); round++) {
        say('restoring')
        const meanwhile = callers(`restore-${round}`)
        const restored = await measured(first, restore)
        await meanwhile.end()
        times.push(restored.s)
        grown = Math.max(grown, restored.grown)
        refused += meanwhile.refused.reduce((sum, it) => sum + it, 0)
        broken.push(...meanwhile.wrong)
        expect(restored.done.status === 200, `the restore got ${restored.done.status} ${restored.done.text}`)
        expect(restored.s <= RESTORE_S_MAX * patience, `the restore took ${restored.s} s`)
        for (const server of [first, second]) {
          const seen = await stateAt(server)
          expect(seen === SAVED, `after the restore a server has ${seen}`)
        }
        const [stored] = await query<{ n: string }>(
          postgres.url,
          'select count(*) as n from vouchers where bot_id is null',
        )
        const restoredCount = restored.done.status === 200 ? restored.done.data.vouchers : 0
        expect(Number(stored?.n) >= restoredCount, `${stored?.n} vouchers after the restore of ${restoredCount}`)
      }
      sometimes.note(MEANWHILE, refused)
      expect(saved.grown <= GROWTH_MIB_MAX && grown <= GROWTH_MIB_MAX, `memory grew by ${saved.grown} and ${grown} MiB`)
      expect(Math.max(...recoveries) <= RECOVERY_MS_MAX * patience, `recovery took ${Math.max(...recoveries)} ms`)
      return {
        facts: {
          vouchers: count,
          'save in s': saved.s,
          'calls beside the save': beside.succeeded,
          'longest of them in ms': Math.round(beside.longest),
          'longest without a save in ms': Math.round(alone.longest),
          'restores in s': times.join(', '),
          'calls with 503 meanwhile': refused,
          'memory grown in MiB': Math.max(saved.grown, grown),
          'recovery after a kill in ms': Math.round(Math.max(...recoveries)),
        },
        broken,
      }
    } finally {
      await killServers()
      await postgres.remove()
    }
  },
}
