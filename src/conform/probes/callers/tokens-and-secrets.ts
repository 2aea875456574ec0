import { contract } from '../../../contract/index.js'
import { parseJson } from '../../../values/json.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { fullToken } from './shared.js'

const probe = probesOf('token-form', { kind: 'credential', needs: ['jwt'] })
const botRead = probe.with({ needs: ['bot'], reads: true })
const { bots, templates } = contract

const other = (symbol: string) => (symbol === '0' ? '1' : '0')

export const tokenForm = [
  probe.partly(1, 'application-token', 'An application token is sop_ and 36 base62 symbols.', async (run) => {
    const { token } = await fullToken(run)
    hasForm(run, token, 'sop_')
  }),
  botRead.partly(1, 'bot-token', 'A bot token is sbot_ and 36 base62 symbols.', async (run) => {
    const token = run.resources.credential('bot')
    run.needs(await run.call(contract.webhook.info, {}), 'a valid bot token')
    hasForm(run, token, 'sbot_')
  }),
  ...(['token', 'bot'] as const).map((kind) =>
    probe.with({ needs: [kind], reads: true })(
      1,
      `wrong-checksum-of-${kind}`,
      `${kind === 'bot' ? 'A bot token' : 'An application token'} with a wrong checksum is 401.`,
      async (run) => {
        const token = run.resources.credential(kind)
        const credential = `${token.slice(0, -1)}${other(token.slice(-1))}`
        const endpoint = kind === 'bot' ? contract.webhook.info : templates.list
        run.refuses(await run.call(endpoint, {}, { as: { credential } }), 401)
      },
    ),
  ),
  probe(1, 'shown-parts', 'Records of tokens show the first eight and the last four characters.', async (run) => {
    const { token, tokenPrefix, last4 } = await fullToken(run)
    run.equals('tokenPrefix and last4', [tokenPrefix, last4], [token.slice(0, 8), token.slice(-4)])
  }),
  probe.with({ needs: ['jwt', 'bot', 'bot id'], reads: true })(
    1,
    'shown-parts-of-bots',
    'The record of a bot shows the first eight characters of its token.',
    async (run) => {
      const { items } = run.needs(await run.call(bots.list, { limit: 100 }), 'a list of bots')
      const bot = items.find(({ id }) => id === run.resources.offer.botId) ?? run.notUsable('--bot is unknown.')
      if (bot.token_prefix === undefined) run.notApplicable('Needs token_prefix in the record of a bot.')
      run.equals('token_prefix', bot.token_prefix, run.resources.credential('bot').slice(0, 8))
    },
  ),
]

/** Requires a prefix, which is specified, and 36 symbols, which are decided. */
function hasForm(run: ProbeContext, token: string, prefix: string): void {
  const isWhole = token.startsWith(prefix) && /^[0-9A-Za-z]{36}$/.test(token.slice(prefix.length))
  const basis = token.startsWith(prefix) ? 'decided' : 'specified'
  run.holds(isWhole, `${prefix} and 36 base62 symbols`, `${token.length} characters: ${token}`, basis)
}

const jwtProbe = probesOf('account-tokens', { kind: 'credential', needs: ['jwt'], reads: true })

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const decode = (part: string) => membersOrNone(parseJson(Buffer.from(part, 'base64url').toString('utf8')))

/** Parts of an account JWT that the platform accepts. */
async function parts(run: ProbeContext) {
  run.needs(await run.call(contract.apps.list, {}), 'an account JWT that works')
  const [head = '', payload = '', signature = ''] = run.resources.credential('jwt').split('.')
  const claims = decode(payload)
  if (claims.sub === undefined) run.notApplicable('Needs an account JWT whose claims can be read.')
  return { head, payload, signature, claims }
}

const forged = [
  [2, 'algorithm-none', 'A JWT without a signature and with the algorithm none is 401.'],
  [1, 'changed-expiry', 'A JWT whose exp was changed after it was signed is 401.'],
] as const

export const accountTokens = [
  ...forged.map(([number, name, title]) =>
    jwtProbe(number, name, title, async (run) => {
      const { head, payload, signature, claims } = await parts(run)
      const credentials = {
        'algorithm-none': `${encode({ alg: 'none', typ: 'JWT' })}.${payload}.`,
        'changed-expiry': `${head}.${encode({ ...claims, exp: Number(claims.exp) + 1 })}.${signature}`,
      }
      run.refuses(await run.call(contract.apps.list, {}, { as: { credential: credentials[name] } }), 401)
    }),
  ),
  jwtProbe(2, 'claims', 'A JWT that is accepted has sub, the audience voucher-console and exp.', async (run) => {
    const { sub, aud, exp } = (await parts(run)).claims
    run.holds(typeof sub === 'string' && /^[!-~]{1,128}$/.test(sub), 'sub of 1 to 128 visible characters', sub)
    run.holds([aud].flat().includes('voucher-console'), 'aud voucher-console', aud)
    run.holds(typeof exp === 'number', 'a number in exp', exp)
  }),
]

const secretProbe = probesOf('stored-secrets', { kind: 'credential', needs: ['token'] })
const anonymous = secretProbe.with({ needs: [], reads: true })
const botProbe = secretProbe.with({ needs: ['bot'] })

const TOKEN = 'sop_ConformConformConformConformConform012345'
const CODE = '7Q2M-conform-secret'

function hides(run: ProbeContext, response: Observed, secret: string): void {
  const { text, headers } = run.needsRefusal(response)
  const isHidden = ![text, JSON.stringify(headers)].some((part) => part.includes(secret))
  run.holds(isHidden, 'a refusal without the secret', text)
}

export const storedSecrets = [
  anonymous(2, 'refused-token', 'The refusal of an unknown token does not contain the token.', async (it) =>
    hides(it, await it.call(templates.list, {}, { as: { credential: TOKEN } }), TOKEN),
  ),
  secretProbe.with({ reads: true })(
    2,
    'refused-code',
    'The refusal of a malformed credential does not contain its value.',
    async (run) => {
      const credential = { type: 'redeem_code', value: CODE }
      hides(run, await run.call(contract.vouchers.verify, { credential }), CODE)
    },
  ),
  botProbe(2, 'refused-webhook-secret', 'The refusal of a webhook does not contain its secret.', async (run) => {
    const secret = 'conform secret with spaces'
    const input = { url: 'https://conform.invalid/hook', secret_token: secret }
    const response = await run.call(contract.webhook.setByBot, input)
    if (response.isSuccess) await run.call(contract.webhook.delete, { botId: run.resources.offer.botId ?? '' })
    hides(run, response, secret)
  }),
]
