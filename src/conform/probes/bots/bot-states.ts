import { botScopes, type Endpoint } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { applied, apply, approvedBot, pendingBot } from '../../bot-fixtures.js'
import { templateInput } from '../../fixtures.js'
import { probesOf } from '../../probe.js'

const stateProbe = probesOf('bot-states', { needs: ['jwt'] })
const { bots, webhook } = contract

export const botStates = [
  stateProbe.specified(1, 'applied-is-pending', 'A new bot is pending and has no token.', async (run) => {
    const { review_status, has_token } = run.needs(await applied(run), 'a bot')
    run.equals('review_status and has_token', [review_status, has_token], ['pending', false])
  }),
  stateProbe(2, 'pending-is-not-active', 'A bot is not active before it is approved.', async (run) => {
    const { status } = await pendingBot(run)
    run.holds(status !== 'active', 'another status than active', status)
  }),
  stateProbe(2, 'approved-is-active', 'An approval makes a bot active.', async (run) => {
    run.equals('status', (await approvedBot(run)).status, 'active')
  }),
  stateProbe.partly(3, 'not-approved', 'Before the approval console calls are 409 BOT_NOT_APPROVED.', async (run) => {
    const { id: botId } = await pendingBot(run)
    const calls: readonly (readonly [Endpoint, Readonly<Record<string, unknown>>])[] = [
      [bots.metrics, {}],
      [webhook.deliveries, {}],
      [webhook.set, { url: 'https://example.com/conform' }],
      [webhook.delete, {}],
      [bots.regenerateToken, {}],
      [bots.templates, {}],
      [bots.createTemplate, templateInput(run)],
    ]
    for (const [endpoint, input] of calls) {
      run.refuses(await run.call(endpoint, { botId, ...input }), 409, 'BOT_NOT_APPROVED')
    }
  }),
  stateProbe.specified(1, 'default-scopes', 'A bot may send and receive messages by default.', async (run) => {
    const { scopes } = run.needs(await applied(run), 'a bot')
    run.equals('scopes', [...scopes].sort(), ['messages:receive', 'messages:send'])
  }),
  stateProbe(4, 'no-scopes', 'A bot with an empty list of scopes is refused with 400.', async (run) => {
    run.refuses(await apply(run, { scopes: [] }), 400)
  }),
  stateProbe(4, 'unknown-scope', `A bot scope beyond the ${botScopes.length} known ones is 400.`, async (run) => {
    run.refuses(await apply(run, { scopes: ['vouchers:redeem'] }), 400)
  }),
]
