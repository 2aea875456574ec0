import type { BotMetrics } from '../../../contract/bots.js'
import { contract } from '../../../contract/index.js'
import { approvedBot, firstToken, userBot, waiting } from '../../bot-fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'

const { bots, webhook } = contract

/** Counts are retried once: they fall when a minute leaves the 24 hours. */
const ATTEMPTS = 2

async function metrics(run: ProbeContext): Promise<BotMetrics> {
  const { id: botId } = await userBot(run)
  return run.needs(await run.call(bots.metrics, { botId }), 'metrics')
}

/** Requires that `act` increases a count of the metrics. */
async function grows(
  run: ProbeContext,
  what: string,
  act: (it: ProbeContext) => Promise<unknown>,
  count: (it: BotMetrics) => number,
): Promise<void> {
  let grown = 0
  for (let attempt = 0; attempt < ATTEMPTS && !(grown >= 1); attempt += 1) {
    const before = count(await metrics(run))
    await act(run)
    grown = count(await metrics(run)) - before
  }
  run.holds(grown >= 1, `${what}: 1 more`, Number.isNaN(grown) ? `no count of ${what}` : `${grown} more`)
}

const needs = ['jwt', 'bot', 'bot id'] as const
const probe = probesOf('bot-metrics', { needs })
const issuingTwo = probe.with({ needs: [...needs, 'token', 'template'], vouchers: 2 })
const accountProbe = probe.with({ needs: ['jwt'] })

async function refused(run: ProbeContext) {
  const response = await run.call(bots.send, { chat_id: 'chat_conform', text: 'conform' })
  run.holds(response.status >= 400, 'a refusal', `status ${response.status}`, 'decided')
  return response
}

export const botMetrics = [
  probe.partly(1, 'calls', 'The metrics count the calls of a bot.', async (run) => {
    const read = async (it: ProbeContext) => it.needs(await it.call(webhook.info, {}), 'a bot token that works')
    await grows(run, 'calls', read, ({ calls }) => calls.total)
  }),
  probe(2, 'refused-calls', 'The metrics count refused calls as calls.', async (run) =>
    grows(run, 'calls', refused, ({ calls }) => calls.total),
  ),
  probe.partly(1, 'errors', 'The metrics count errors.', async (run) =>
    grows(run, 'errors', refused, ({ errors }) => errors.total),
  ),
  probe(2, 'errors-by-status', 'The metrics count errors by status.', async (run) => {
    const status = String((await refused(run)).status)
    const count = ({ errors }: BotMetrics) => errors.by_status[status] ?? 0
    await grows(run, `errors of status ${status}`, refused, count)
  }),
  probe(2, 'errors-by-code', 'The metrics count errors by code.', async (run) => {
    const code = (await refused(run)).code ?? run.notApplicable('Needs a refusal with a code.')
    const count = ({ errors }: BotMetrics) => errors.by_code[code] ?? 0
    await grows(run, `errors of code ${code}`, refused, count)
  }),
  probe.partly(1, 'quota', 'Used and remaining calls in the quota of a bot sum to its limit.', async (run) => {
    const { quota } = await metrics(run)
    run.holds(membersOrNone(quota) === quota, 'an object in quota', quota)
    const { limit, used, remaining } = quota
    run.equals('used and remaining', limit === null ? remaining : used + (remaining ?? Number.NaN), limit)
  }),
  issuingTwo(2, 'updates', 'The metrics count the updates of a bot.', async (run) => {
    const { length } = await waiting(run, 1)
    const create = (it: ProbeContext) => waiting(it, length + 1)
    await grows(run, 'updates', create, ({ updates }) => updates)
  }),
  accountProbe(2, 'success-rate', 'The success rate of a bot without webhook attempts is null.', async (run) => {
    const { id: botId } = await approvedBot(run)
    await firstToken(run)
    const { attempts, success_rate } = run.needs(await run.call(bots.metrics, { botId }), 'metrics').webhook
    run.equals('attempts and success_rate', [attempts, success_rate], [0, null])
  }),
]
