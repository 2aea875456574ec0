// Child process; argv: number of expired idempotency records, and the SQLite file or PostgreSQL URL. Redeems vouchers
// at a constant rate, first without other work, then during the expiry sweep of the records.
import { randomBytes, randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import pg from 'pg'
import { indexCredential } from '../../../src/domain/credentials.js'
import { newId } from '../../../src/domain/ids.js'
import { ExpirySweeper } from '../../../src/server/background/expiry-sweeper.js'
import { run } from '../../../src/store/operation.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import { openDatabase } from '../../../src/store/sqlite/engine.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import type { Store } from '../../../src/store/store.js'
import { type HashedCredential, issue, issueGroup, redeem, redeemGroup } from '../../../src/store/vouchers.js'

const ALONE_SECONDS = 10
const PER_SECOND = 100
/** Number of vouchers: enough for all redeems of a run. */
const VOUCHERS = 40_000

const [, , records, place = ''] = process.argv
const onPostgres = place.startsWith('postgres:')
const open = () => (onPostgres ? openPostgresStore({ url: place, env: {} }) : openSqliteStore(place))
const key = { id: 'key', derive: randomBytes(32), index: randomBytes(32) }
const keys = { current: key, all: [key] }
const applicationId = 'app_expiry'
const templateId = 'tpl_expiry'
const now = Date.now()
const source = { requestId: 'req_expiry', calledBy: 'tok_expiry' }

process.once('message', async () => {
  await (await open()).close()
  await storeRecords(Number(records))
  const store = await open()
  await store.write(() =>
    run(
      `insert into templates (application_id, id, account_id, external_template_id, name, type, issuer_name,
         fulfiller_name, fulfillment_category, acquisition_source, validity, issue_limit, issued_count, status, metadata,
         created_at, updated_at)
       values ($1, $2, 'acc', 'e', 'One coffee', 'exchange', 'Cafe', 'Cafe', 'offline_service', 'campaign_reward',
         '{"type":"relative","durationDays":30,"delayDays":0,"notAfter":null}', 1000000, 0, 'active', '{}', 0, 0)`,
      [applicationId, templateId],
    ),
  )
  const codes: string[] = []
  for (let n = 0; n < VOUCHERS; n += 500) {
    codes.push(...(await Promise.all(Array.from({ length: 500 }, (_, it) => issued(store, n + it)))))
  }
  const redeems = redeemsOf(store, codes)

  let over = false
  const alone = paced(redeems, () => over)
  await new Promise((resolve) => setTimeout(resolve, ALONE_SECONDS * 1000))
  over = true
  const before = await alone

  over = false
  const startedAt = performance.now()
  const beside = paced(redeems, () => over)
  let failure: unknown
  const sweeper = new ExpirySweeper(store, (error) => {
    failure = error
  })
  await sweeper.start(now)
  if (failure !== undefined) throw failure
  const seconds = (performance.now() - startedAt) / 1000
  over = true
  process.send?.({ alone: before, beside: await beside, seconds })
  await store.close()
})
process.once('disconnect', () => process.exit())

/** Stores expired idempotency records of a hundred other applications. */
async function storeRecords(count: number) {
  const insert = (
    id: string,
    text: string,
  ) => `insert into idempotency_keys (application_id, idempotency_key, fingerprint, status,
    subject_id, data, created_at, expires_at) select 'app_' || (n % 100), ${text}, '${'f'.repeat(43)}', 201,
    'vch_01KAJ3XQ8Y7M2N4P6R8T0V' || n, null, 0, ${now} - n from ${id}`
  if (onPostgres) {
    const client = new pg.Client({ connectionString: place })
    await client.connect()
    await client.query(insert(`generate_series(1, ${count}) n`, 'md5(n::text)'))
    await client.query('vacuum analyze idempotency_keys')
    await client.end()
    return
  }
  const db = openDatabase(place)
  db.exec('pragma cache_size = -400000')
  db.exec(`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})
    ${insert('numbers', 'lower(hex(randomblob(16)))')}`)
  db.close()
}

async function issued(store: Store, n: number): Promise<string> {
  const call = {
    applicationId,
    templateId,
    ...source,
    externalIssueId: `order-${n}`,
    recipientUserId: 'user',
    metadata: {},
    idempotencyKey: { value: randomUUID(), fingerprint: 'f' },
    voucherId: newId('vch', now, randomBytes),
    newDeliveryId: () => newId('dlv', now, randomBytes),
    now,
    keys,
  }
  const response = await store.write(() => issue(call), issueGroup(applicationId, templateId, call.externalIssueId))
  if (!response.ok) throw new Error(response.code)
  return response.data.credentials[0]?.value ?? ''
}

/** A generator whose every step redeems the next voucher. */
function* redeemsOf(store: Store, codes: readonly string[]) {
  for (const code of codes) {
    const hashes = [indexCredential(key.index, 'redeem_code', code.replaceAll('-', ''))]
    const credential: HashedCredential = { type: 'redeem_code', hashes }
    const call = {
      applicationId,
      ...source,
      credential,
      metadata: {},
      idempotencyKey: { value: randomUUID(), fingerprint: 'f' },
      redemptionId: newId('rdm', now, randomBytes),
      newDeliveryId: () => newId('dlv', now, randomBytes),
      now,
    }
    yield () => store.write(() => redeem(call), redeemGroup(applicationId, credential))
  }
}

/** Starts redeems on schedule, even while earlier ones run; measures each from its scheduled time, in milliseconds. */
async function paced(redeems: ReturnType<typeof redeemsOf>, isOver: () => boolean) {
  const durations: number[] = []
  const running: Promise<void>[] = []
  const startedAt = performance.now()
  for (let n = 0; !isOver(); ) {
    for (; startedAt + (n * 1000) / PER_SECOND <= performance.now(); n++) {
      const due = startedAt + (n * 1000) / PER_SECOND
      const next = redeems.next()
      if (next.done) throw new Error('no voucher is left')
      running.push(
        next.value().then((response) => {
          if (!response.ok) throw new Error(response.code)
          durations.push(performance.now() - due)
        }),
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(running)
  durations.sort((a, b) => a - b)
  const at = (share: number) => durations[Math.min(durations.length - 1, Math.floor(durations.length * share))]
  return { count: durations.length, p50: at(0.5), p99: at(0.99), max: durations.at(-1) }
}
