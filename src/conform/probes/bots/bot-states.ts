import { botScopes, type Endpoint } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { applied, apply, approvedBot, pendingBot } from '../../bot-fixtures.js'
import { templateInput } from '../../fixtures.js'
import { probesOf } from '../../probe.js'

const stateProbe = probesOf('bot-states', {
  needs: ['jwt'],
  specified: ['applied-is-pending', 'default-scopes'],
  partly: ['not-approved'],
})
const { bots, webhook } = contract

export const botStates = [
  stateProbe('applied-is-pending', 'A bot is pending when it is submitted, and has no token.', async (it) => {
    const { review_status, has_token } = it.needs(await applied(it), 'a bot')
    it.equals('review_status and has_token', [review_status, has_token], ['pending', false])
  }),
  stateProbe('pending-is-not-active', 'A bot is not active before it is approved.', async (it) => {
    const { status } = await pendingBot(it)
    it.holds(status !== 'active', 'another status than active', status)
  }),
  stateProbe('approved-is-active', 'An approval makes a bot active.', async (it) => {
    it.equals('status', (await approvedBot(it)).status, 'active')
  }),
  stateProbe('not-approved', 'Before the approval console calls are 409 BOT_NOT_APPROVED.', async (it) => {
    const { id: botId } = await pendingBot(it)
    const calls: readonly (readonly [Endpoint, Readonly<Record<string, unknown>>])[] = [
      [bots.metrics, {}],
      [webhook.deliveries, {}],
      [webhook.set, { url: 'https://example.com/conform' }],
      [webhook.delete, {}],
      [bots.regenerateToken, {}],
      [bots.templates, {}],
      [bots.createTemplate, templateInput(it)],
    ]
    for (const [endpoint, input] of calls) {
      it.refuses(await it.call(endpoint, { botId, ...input }), 409, 'BOT_NOT_APPROVED')
    }
  }),
  stateProbe('default-scopes', 'A bot may send and receive messages by default.', async (it) => {
    const { scopes } = it.needs(await applied(it), 'a bot')
    it.equals('scopes', [...scopes].sort(), ['messages:receive', 'messages:send'])
  }),
  stateProbe('no-scopes', 'A bot with an empty list of scopes is refused with 400.', async (it) => {
    it.refuses(await apply(it, { scopes: [] }), 400)
  }),
  stateProbe(
    'unknown-scope',
    `A bot with another scope than ${botScopes.length} known ones is refused with 400.`,
    async (it) => {
      it.refuses(await apply(it, { scopes: ['vouchers:redeem'] }), 400)
    },
  ),
]
