import { contract } from '../../../contract/index.js'
import { probesOf } from '../../probe.js'
import { fullToken } from './shared.js'

const probe = probesOf('token-form', { needs: ['jwt'], partly: ['application-token', 'bot-token'] })
const { bots, templates } = contract

/** Another symbol than the one that is there, of the same alphabet. */
const other = (symbol: string) => (symbol === '0' ? '1' : '0')

export const tokenForm = [
  probe('application-token', 'An application token is sop_ and 36 base62 symbols.', async (it) => {
    const { token } = await fullToken(it)
    it.holds(/^sop_[0-9A-Za-z]{36}$/.test(token), 'sop_ and 36 base62 symbols', `${token.length} characters: ${token}`)
  }),
  probe('bot-token', 'A bot token is sbot_ and 36 base62 symbols.', { needs: ['bot'], reads: true }, async (it) => {
    const token = it.resources.credential('bot')
    it.needs(await it.call(contract.webhook.info, {}), 'a valid bot token')
    it.holds(
      /^sbot_[0-9A-Za-z]{36}$/.test(token),
      'sbot_ and 36 base62 symbols',
      `${token.length} characters: ${token}`,
    )
  }),
  ...(['token', 'bot'] as const).map((kind) =>
    probe(
      `wrong-checksum-of-${kind}`,
      `${kind === 'bot' ? 'A bot token' : 'An application token'} with a wrong checksum is 401.`,
      { needs: [kind], reads: true },
      async (it) => {
        const token = it.resources.credential(kind)
        const credential = `${token.slice(0, -1)}${other(token.slice(-1))}`
        const endpoint = kind === 'bot' ? contract.webhook.info : templates.list
        it.refuses(await it.call(endpoint, {}, { as: { credential } }), 401)
      },
    ),
  ),
  probe('shown-parts', 'Records of tokens show the first eight and the last four characters.', async (it) => {
    const { token, tokenPrefix, last4 } = await fullToken(it)
    it.equals('tokenPrefix and last4', [tokenPrefix, last4], [token.slice(0, 8), token.slice(-4)])
  }),
  probe(
    'shown-parts-of-bots',
    'The record of a bot shows the first eight characters of its token.',
    { needs: ['jwt', 'bot', 'bot id'], reads: true },
    async (it) => {
      const { items } = it.needs(await it.call(bots.list, { limit: 100 }), 'a list of bots')
      const bot =
        items.find(({ id }) => id === it.resources.offer.botId) ?? it.notApplicable('Needs a bot of the account.')
      if (bot.token_prefix === undefined) it.notApplicable('Needs token_prefix in the record of a bot.')
      it.equals('token_prefix', bot.token_prefix, it.resources.credential('bot').slice(0, 8))
    },
  ),
]
