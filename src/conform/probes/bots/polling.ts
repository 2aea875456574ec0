import { contract } from '../../../contract/index.js'
import type { Update } from '../../../contract/updates.js'
import { listen, poll, quiet, select, waiting, whileWebhook } from '../../bot-fixtures.js'
import { voucher } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'

const { webhook } = contract
const needs = ['bot', 'token', 'template'] as const
const probe = probesOf('polling', { needs })
const issuingTwo = probe.with({ vouchers: 2 })
const issuing = probe.with({ vouchers: 1 })
const botProbe = probe.with({ needs: ['bot'] })
const webhookProbe = probe.with({ needs: [...needs, 'jwt', 'bot id', 'webhook'] })

const FAR = 1_000_000
const HELD_S = 1
const OLDER_S = 3
/** Milliseconds after which a poll has certainly reached the platform. */
const STARTED_MS = 300
/** Minimum measured ms of a poll held for 1 s: the clocks of both sides may differ in speed. */
const HELD_MIN_MS = 900
/** Maximum seconds of a held poll, over HTTP and over the encrypted transport. */
const HELD_MAX_S = 50
const INNER_MAX_S = 10

const idsOf = (items: readonly Update[]) => items.map(({ update_id }) => update_id)

/** Ids of waiting updates, in ascending order. */
const waitingIds = async (it: ProbeContext, count: number) => idsOf(await waiting(it, count)).sort((a, b) => a - b)

/** Ids of updates that no poll has confirmed. */
const unconfirmed = async (it: ProbeContext) => idsOf(it.needs(await poll(it), 'a bot that polls').items)

/** @throws Difference if an update up to this id waits */
async function requireConfirmed(run: ProbeContext, last: number): Promise<void> {
  const left = await unconfirmed(run)
  const isConfirmed = left.every((id) => id > last)
  run.holds(isConfirmed, `no update up to ${last}`, left)
}

/** Holds a poll, sends calls meanwhile, and returns the response to the poll. */
async function during(context: ProbeContext, input: Readonly<Record<string, unknown>>, run: () => Promise<unknown>) {
  const older = poll(context, { timeout: OLDER_S, ...input })
  // If `run` ends the probe, the failure of this poll stays unhandled otherwise.
  older.catch(() => {})
  await context.resources.pause(STARTED_MS)
  await run()
  return older
}

const starting = botProbe.with({ waitsMs: STARTED_MS })
const holding = botProbe.with({ waitsMs: HELD_S * 1000 })
const issuingMeanwhile = probe.with({ vouchers: 2, waitsMs: OLDER_S * 1000 })
const terminating = botProbe.with({ waitsMs: OLDER_S * 1000 })
const confirming = probe.with({ vouchers: 1, waitsMs: OLDER_S * 1000 })

export const polling = [
  issuingTwo(2, 'ascending', 'getUpdates returns items in ascending order.', async (run) => {
    await waiting(run, 2)
    const { items } = run.accepts(await poll(run))
    const ids = idsOf(items)
    const sorted = [...ids].sort((a, b) => a - b)
    run.equals('ids', ids, sorted)
  }),
  issuing(2, 'unconfirmed', 'A poll without offset confirms nothing.', async (run) => {
    const before = await waitingIds(run, 1)
    run.needs(await poll(run), 'a bot that polls')
    const after = new Set(await unconfirmed(run))
    const areKept = before.every((id) => after.has(id))
    run.holds(areKept, `updates ${before}`, `updates ${[...after]}`)
  }),
  issuingTwo(2, 'offset', 'An offset confirms all updates below it, and none from it on.', async (run) => {
    const last = (await waitingIds(run, 2)).at(-1) ?? 0
    run.needs(await poll(run, { offset: last }), 'a bot that polls')
    const left = await unconfirmed(run)
    run.holds(left.includes(last) && left.every((id) => id >= last), `updates from ${last}`, left)
  }),
  issuingTwo(2, 'negative-offset', 'The offset -1 leaves only the newest update unconfirmed.', async (run) => {
    const last = (await waitingIds(run, 2)).at(-1) ?? 0
    run.accepts(await poll(run, { offset: -1 }))
    const left = await unconfirmed(run)
    run.holds(left.includes(last) && left.every((id) => id >= last), `updates from ${last}`, left)
  }),
  botProbe(2, 'offset-in-the-future', 'An offset beyond the next id is 400 OFFSET_IN_FUTURE.', async (run) => {
    run.needs(await poll(run, { limit: 1 }), 'a bot that polls')
    run.refuses(await poll(run, { offset: FAR * FAR }), 400, 'OFFSET_IN_FUTURE')
  }),
  issuing(2, 'offset-of-the-next', 'An offset of the next id confirms all updates.', async (run) => {
    const last = (await waitingIds(run, 1)).at(-1) ?? 0
    run.accepts(await poll(run, { offset: last + 1 }))
    await requireConfirmed(run, last)
  }),
  issuingTwo(2, 'limit', 'A poll with the limit 1 returns one of two updates.', async (run) => {
    await waiting(run, 2)
    run.equals('number of items', run.accepts(await poll(run, { limit: 1 })).items.length, 1)
  }),
  ...[0, 101].map((limit) =>
    botProbe(2, `limit-of-${limit}`, `A poll with the limit ${limit} is refused with 400.`, async (run) => {
      run.refuses(await poll(run, { limit }), 400)
    }),
  ),
  botProbe(2, 'limit-of-100', 'A poll may have the limit 100.', async (run) => {
    run.needs(await poll(run, { limit: 1 }), 'a bot that polls')
    run.accepts(await poll(run, { limit: 100 }))
  }),
  starting(2, 'timeout-too-long', 'A timeout above 50 s, or 10 s when encrypted, is refused with 400.', async (run) => {
    const timeout = (run.wire.isEncrypted ? INNER_MAX_S : HELD_MAX_S) + 1
    // If the platform holds this poll, a newer poll ends it.
    run.refuses(await during(run, { timeout }, () => poll(run)), 400)
  }),
  issuing(2, 'longest-timeout', 'A poll may have a timeout of 50 s, or 10 s when encrypted.', async (run) => {
    await waiting(run, 1)
    run.accepts(await poll(run, { timeout: run.wire.isEncrypted ? INNER_MAX_S : HELD_MAX_S }))
  }),
  holding(2, 'held', 'A timeout of 1 s holds a poll without updates for 1 s.', async (run) => {
    await quiet(run)
    const startedAt = performance.now()
    const { items } = run.accepts(await poll(run, { timeout: HELD_S }))
    const tookMs = performance.now() - startedAt
    if (items.length > 0) run.notApplicable('Needs a bot without other updates.')
    run.holds(tookMs >= HELD_MIN_MS, `at least ${HELD_MIN_MS} ms`, `${Math.round(tookMs)} ms`)
  }),
  issuingMeanwhile(2, 'held-until-an-update', 'A held poll returns an update created meanwhile.', async (run) => {
    await waiting(run, 1)
    await listen(run)
    const held = await during(run, {}, () => voucher(run))
    run.holds(run.accepts(held).items.length > 0, 'an update', 'none')
  }),
  terminating(3, 'newer-poll', 'A newer poll ends an older one, which gets 409 POLL_TERMINATED.', async (run) => {
    await quiet(run)
    const older = await during(run, {}, () => poll(run))
    run.refuses(older, 409, 'POLL_TERMINATED')
  }),
  confirming(3, 'confirmed-by-an-ended-poll', 'Updates that an ended poll confirmed remain confirmed.', async (run) => {
    const last = (await waitingIds(run, 1)).at(-1) ?? 0
    const older = await during(run, { offset: last + 1 }, () => poll(run))
    if (older.status !== 409) run.notApplicable('Needs a poll that a newer one ended.')
    await requireConfirmed(run, last)
  }),
  botProbe(3, 'refused-poll', 'A refused poll does not change allowed_updates.', async (run) => {
    await select(run, ['message', 'ping'])
    const settings = async () => run.needs(await run.call(webhook.info, {}), 'settings of a bot').allowed_updates
    const before = await settings()
    run.needsRefusal(await poll(run, { offset: FAR * FAR, allowed_updates: ['message'] }))
    run.equals('allowed_updates', await settings(), before)
  }),
  terminating(3, 'refused-poll-ends-an-older-one', 'A poll refused for its offset ends an older poll.', async (run) => {
    await quiet(run)
    const older = await during(run, {}, async () => {
      run.needsRefusal(await poll(run, { offset: FAR * FAR }))
    })
    run.refuses(older, 409)
  }),
  webhookProbe.partly(1, 'webhook-active', 'A poll of a bot with a webhook is 409 WEBHOOK_ACTIVE.', async (run) => {
    await whileWebhook(run, async () => run.refuses(await poll(run), 409, 'WEBHOOK_ACTIVE'))
  }),
  webhookProbe.with({ vouchers: 1 })(
    3,
    'webhook-active-confirms-nothing',
    'A poll that is refused for a webhook confirms nothing.',
    async (run) => {
      const last = (await waitingIds(run, 1)).at(-1) ?? 0
      await whileWebhook(run, async () => {})
      if (!(await unconfirmed(run)).includes(last)) run.notApplicable('Needs updates that wait after a webhook.')
      await whileWebhook(run, async () => void run.needsRefusal(await poll(run, { offset: last + 1 }), 409))
      const left = await unconfirmed(run)
      run.holds(left.includes(last), `update ${last}`, left)
    },
  ),
]
