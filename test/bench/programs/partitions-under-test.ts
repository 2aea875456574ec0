// Child process with a store on the database of argv, like one server. The IPC message `prepare` makes it create
// applications with a template each; `run` makes it issue, verify and redeem vouchers of random applications with the
// operations of the store.
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import process from 'node:process'
import { indexCredential } from '../../../src/domain/credentials.js'
import { newId } from '../../../src/domain/ids.js'
import { run } from '../../../src/store/operation.js'
import { openPostgresStore } from '../../../src/store/postgres/store.js'
import { type HashedCredential, issue, issueGroup, redeem, redeemGroup, verify } from '../../../src/store/vouchers.js'
import { createPartitioned } from '../../support/postgres/partitioned.js'

const CONCURRENCY = 32

const [, , url = '', partitions, options] = process.argv
if (Number(partitions) > 0) await createPartitioned(url, Number(partitions))
const store = await openPostgresStore({ url, env: { PGOPTIONS: options || undefined } })
const key = { id: 'key', derive: randomBytes(32), index: randomBytes(32) }
const keys = { current: key, all: [key] }
const summaries = new Map()
let made = 0

const nameOf = (n: number) => [`app_${String(n).padStart(26, '0')}`, `tpl_${String(n).padStart(26, '0')}`] as const

async function prepare(applications: number) {
  for (; made < applications; made++) {
    await store.write(() =>
      run(
        `insert into templates (application_id, id, account_id, external_template_id, name, type, issuer_name,
           fulfiller_name, fulfillment_category, acquisition_source, validity, issue_limit, issued_count, status,
           metadata, created_at, updated_at)
         values ($1, $2, 'acc', 'e', 'One coffee', 'exchange', 'Cafe', 'Cafe', 'offline_service', 'campaign_reward',
           '{"type":"relative","durationDays":30,"delayDays":0,"notAfter":null}', 1000000000, 0, 'active', '{}', 0, 0)`,
        nameOf(made),
      ),
    )
  }
}

interface Job {
  readonly applications: number
  readonly count: number
}

/** @returns issue, verify and redeem calls per second */
async function runAll({ applications, count }: Job) {
  const now = Date.now()
  const issued: { readonly applicationId: string; readonly credential: HashedCredential }[] = []
  const source = { requestId: 'req_partitions', calledBy: 'tok_partitions' }
  const common = { ...source, metadata: {}, newDeliveryId: () => newId('dlv', now, randomBytes), now }
  const issuing = await timed(count, async (n) => {
    const [applicationId, templateId] = nameOf(randomInt(applications))
    const externalIssueId = `order-${now}-${n}`
    const call = {
      ...common,
      applicationId,
      templateId,
      externalIssueId,
      recipientUserId: `user-${n}`,
      idempotencyKey: { value: randomUUID(), fingerprint: 'f' },
      voucherId: newId('vch', now, randomBytes),
      keys,
      summaries,
    }
    const { data } = succeeded(
      await store.write(() => issue(call), issueGroup(applicationId, templateId, externalIssueId)),
    )
    const code = data.credentials[0]?.value ?? ''
    const hashes = [indexCredential(key.index, 'redeem_code', code.replaceAll('-', ''))]
    issued.push({ applicationId, credential: { type: 'redeem_code', hashes } })
  })
  const verifying = await timed(count, async (n) => {
    const { applicationId, credential } = issued[n] as (typeof issued)[0]
    succeeded(await store.read(() => verify(applicationId, credential, undefined, now, summaries)))
  })
  const redeeming = await timed(count, async (n) => {
    const { applicationId, credential } = issued[n] as (typeof issued)[0]
    const call = {
      ...common,
      applicationId,
      credential,
      idempotencyKey: { value: randomUUID(), fingerprint: 'f' },
      redemptionId: newId('rdm', now, randomBytes),
    }
    succeeded(await store.write(() => redeem(call), redeemGroup(applicationId, credential)))
  })
  return { issue: issuing, verify: verifying, redeem: redeeming }
}

function succeeded<T extends { readonly ok: boolean }>(response: T): Extract<T, { readonly ok: true }> {
  if (!response.ok) throw new Error(JSON.stringify(response))
  return response as Extract<T, { readonly ok: true }>
}

/** Makes `count` calls, CONCURRENCY at a time; returns calls per second. */
async function timed(count: number, call: (n: number) => Promise<void>) {
  let begun = 0
  const startedAt = performance.now()
  const one = async () => {
    while (begun < count) await call(begun++)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, one))
  return (count * 1000) / (performance.now() - startedAt)
}

process.on('message', async (job: Job | { readonly prepare: number }) => {
  if ('prepare' in job) process.send?.(await prepare(job.prepare).then(() => 'prepared'))
  else process.send?.(await runAll(job))
})
process.once('disconnect', async () => {
  await store.close()
  process.exit()
})
process.send?.('ready')
