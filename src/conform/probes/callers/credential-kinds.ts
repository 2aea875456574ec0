import type { Endpoint } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { templateInput } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { unknownCredential, unknownIssue } from './shared.js'

const probe = probesOf('credential-kinds', { kind: 'credential' })
const { apps, bots, templates, tokens, vouchers, webhook } = contract

const url = 'https://example.com/conform'

/** Input of the calls that need one; the named objects do not exist. */
const inputs = new Map<Endpoint, (it: ProbeContext) => Readonly<Record<string, unknown>>>([
  [templates.create, (it) => templateInput(it)],
  [vouchers.issue, () => unknownIssue],
  [vouchers.verify, () => ({ credential: unknownCredential })],
  [vouchers.redeem, () => ({ credential: unknownCredential })],
  [bots.issue, () => ({ template_id: 'tpl_conform', external_issue_id: 'conform', chat_id: 'chat_conform' })],
  [bots.send, () => ({ chat_id: 'chat_conform', text: 'conform' })],
  [webhook.set, () => ({ url })],
  [webhook.setByBot, () => ({ url })],
  [apps.create, ({ resources }) => ({ name: `conform-${resources.run}` })],
  [tokens.create, () => ({ name: 'conform', scopes: ['vouchers:read'] })],
  [bots.apply, () => ({ name: 'conform', username: 'conform' })],
  [bots.createTemplate, (it) => templateInput(it)],
])

const ids = {
  appId: 'app_conform',
  tokenId: 'tok_conform',
  botId: 'bot_conform',
  templateId: 'tpl_conform',
  redemptionId: 'rdm_conform',
  deliveryId: 'dlv_conform',
}

const rooms = { token: 'runtime', bot: 'bot', jwt: 'console' } as const
const kinds = ['token', 'bot', 'jwt'] as const

const all: readonly Endpoint[] = [apps, tokens, templates, vouchers, bots, webhook].flatMap((group) =>
  Object.values(group),
)
const nameOf = { token: 'an application token', bot: 'a bot token', jwt: 'an account JWT' } as const

export const credentialKinds = kinds.flatMap((accepted) =>
  kinds
    .filter((kind) => kind !== accepted)
    .map((kind) =>
      probe
        .with({ needs: [kind] })
        .partly(
          1,
          `${rooms[accepted]}-with-${kind}`,
          `Every ${rooms[accepted]} call with ${nameOf[kind]} is 401 TOKEN_TYPE_NOT_ACCEPTED.`,
          async (run) => {
            for (const endpoint of all.filter(({ caller }) => caller === accepted)) {
              const needed = new Set([...endpoint.path.matchAll(/:(\w+)/g)].map(([, name]) => name))
              const path = Object.fromEntries(Object.entries(ids).filter(([name]) => needed.has(name)))
              const input = { ...path, ...inputs.get(endpoint)?.(run) }
              run.refuses(await run.call(endpoint, input, { as: kind }), 401, 'TOKEN_TYPE_NOT_ACCEPTED')
            }
          },
        ),
    ),
)
