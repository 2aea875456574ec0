import type { BotMetrics } from '../../../contract/bots.js'
import { contract } from '../../../contract/index.js'
import { approvedBot, firstToken, userBot, waiting } from '../../bot-fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'

const { bots, webhook } = contract

/** A count may fall when a minute of yesterday leaves the 24 hours: then the probe counts once more. */
const ATTEMPTS = 2

async function metrics(it: ProbeContext): Promise<BotMetrics> {
  const { id: botId } = await userBot(it)
  return it.needs(await it.call(bots.metrics, { botId }), 'metrics')
}

/** Requires that a count of the metrics grows by `by` with what `act` does. */
async function grows(
  it: ProbeContext,
  what: string,
  by: number,
  count: (it: BotMetrics) => number,
  act: () => Promise<void>,
) {
  let grown = 0
  for (let attempt = 0; attempt < ATTEMPTS && !(grown >= by); attempt += 1) {
    const before = count(await metrics(it))
    await act()
    grown = count(await metrics(it)) - before
  }
  it.holds(grown >= by, `${what}: ${by} more`, Number.isNaN(grown) ? `no count of ${what}` : `${grown} more`)
}

const needs = ['jwt', 'bot', 'bot id'] as const
const probe = probesOf('bot-metrics', { needs, partly: ['calls', 'errors', 'quota'] })

/** Sends a call that the platform refuses. */
async function refused(it: ProbeContext) {
  const response = await it.call(bots.send, { chat_id: 'chat_conform', text: 'conform' })
  if (response.status < 400) it.notApplicable('Needs a refused call.')
  return response
}

export const botMetrics = [
  probe('calls', 'The metrics count the calls of a bot.', async (it) => {
    const read = async () => {
      it.needs(await it.call(webhook.info, {}), 'a bot token that works')
    }
    await grows(it, 'calls', 1, ({ calls }) => calls.total, read)
  }),
  probe('refused-calls', 'The metrics count refused calls as calls.', async (it) => {
    await grows(
      it,
      'calls',
      1,
      ({ calls }) => calls.total,
      async () => {
        await refused(it)
      },
    )
  }),
  probe('errors', 'The metrics count errors.', async (it) => {
    await grows(
      it,
      'errors',
      1,
      ({ errors }) => errors.total,
      async () => {
        await refused(it)
      },
    )
  }),
  probe('errors-by-status', 'The metrics count errors by status.', async (it) => {
    const status = String((await refused(it)).status)
    await grows(
      it,
      `errors of status ${status}`,
      1,
      ({ errors }) => errors.by_status[status] ?? 0,
      async () => {
        await refused(it)
      },
    )
  }),
  probe('errors-by-code', 'The metrics count errors by code.', async (it) => {
    const code = (await refused(it)).code ?? it.notApplicable('Needs a refusal with a code.')
    await grows(
      it,
      `errors of code ${code}`,
      1,
      ({ errors }) => errors.by_code[code] ?? 0,
      async () => {
        await refused(it)
      },
    )
  }),
  probe('quota', 'The metrics have the quota of a bot: used and remaining calls are the limit.', async (it) => {
    const { quota } = await metrics(it)
    it.holds(membersOrNone(quota) === quota, 'an object in quota', quota)
    const { limit, used, remaining } = quota
    it.equals('used and remaining', limit === null ? remaining : used + (remaining ?? Number.NaN), limit)
  }),
  probe(
    'updates',
    'The metrics count the updates of a bot.',
    { needs: [...needs, 'token', 'template'], vouchers: 2 },
    async (it) => {
      const { length } = await waiting(it, 1)
      await grows(
        it,
        'updates',
        1,
        ({ updates }) => updates,
        async () => {
          await waiting(it, length + 1)
        },
      )
    },
  ),
  probe(
    'success-rate',
    'The success rate of a bot without webhook attempts is null.',
    { needs: ['jwt'] },
    async (it) => {
      const { id: botId } = await approvedBot(it)
      await firstToken(it)
      const { attempts, success_rate } = it.needs(await it.call(bots.metrics, { botId }), 'metrics').webhook
      it.equals('attempts and success_rate', [attempts, success_rate], [0, null])
    },
  ),
]
