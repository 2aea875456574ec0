import { type Endpoint, type Scope, scopes } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { approvedBot, botToken } from '../../bot-fixtures.js'
import { templateInput } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Caller, Observed, ProbeContext } from '../../probe-context.js'
import { createOwnToken, fullToken, unknownCredential, unknownIssue, withToken } from './shared.js'

const nameOf = (scope: string) => scope.replaceAll(':', '-')
const probe = probesOf('scopes', {
  needs: ['jwt'],
  specified: scopes.flatMap((it) => [`without-${nameOf(it)}`, `with-${nameOf(it)}`]),
  partly: ['bot-templates-read', 'bot-templates-write'],
})
const { bots, templates, vouchers } = contract

type Call = readonly [endpoint: Endpoint, input: (it: ProbeContext) => Readonly<Record<string, unknown>>]

/** The calls that a scope allows. */
const callsOf: Readonly<Record<Scope, readonly Call[]>> = {
  'vouchers:read': [
    [templates.list, () => ({})],
    [vouchers.redemption, () => ({ redemptionId: 'rdm_conform' })],
  ],
  'vouchers:templates:write': [
    [templates.create, (it) => templateInput(it)],
    [templates.submit, () => ({ templateId: 'tpl_conform' })],
  ],
  'vouchers:issue': [[vouchers.issue, () => unknownIssue]],
  'vouchers:verify': [[vouchers.verify, () => ({ credential: unknownCredential })]],
  'vouchers:redeem': [[vouchers.redeem, () => ({ credential: unknownCredential })]],
  'vouchers:reverse': [[vouchers.reverse, () => ({ redemptionId: 'rdm_conform' })]],
}

/** Makes the calls of a scope, and registers a template that one of them creates. */
async function makeCalls(
  it: ProbeContext,
  scope: Scope,
  as: Caller,
  check: (response: Observed) => void,
): Promise<void> {
  for (const [endpoint, input] of callsOf[scope]) {
    const sent = input(it)
    const response = await it.call(endpoint, sent, { as })
    if (endpoint === templates.create && response.isSuccess) {
      it.resources.leaves('template', String(sent.external_template_id))
    }
    check(response)
  }
}

/** Makes the calls of a scope with a token that has every other scope. */
async function callWithout(it: ProbeContext, scope: Scope, check: (response: Observed) => void): Promise<void> {
  const { token } = await fullToken(it)
  it.needs(await it.call(templates.list, {}, { as: { credential: token } }), 'an application that may call')
  const others = scopes.filter((one) => one !== scope)
  await withToken(it, others, (as) => makeCalls(it, scope, as, check))
}

/** Checks the refusal of a call without its scope. */
async function checkRefusal(it: ProbeContext, check: (response: Observed) => void): Promise<void> {
  await callWithout(it, 'vouchers:issue', (response) => {
    if (response.status !== 403) it.notApplicable('Needs a 403 for a missing scope.')
    check(response)
  })
}

export const scopeProbes = [
  ...scopes.map((scope) =>
    probe(`without-${nameOf(scope)}`, `A call that needs ${scope} is 403 for a token without it.`, (it) =>
      callWithout(it, scope, (response) => it.refuses(response, 403)),
    ),
  ),
  ...scopes.map((scope) =>
    probe(`with-${nameOf(scope)}`, `A token with ${scope} alone may make the calls of this scope.`, (it) =>
      withToken(it, [scope], (as) =>
        makeCalls(it, scope, as, ({ status, code }) => {
          if (code === 'APPLICATION_DISABLED' || code === 'FEATURE_UNAVAILABLE') {
            it.notApplicable('Needs an application that may call.')
          }
          it.holds(status !== 403, 'another status than 403', `status 403 ${code}`)
        }),
      ),
    ),
  ),
  probe('unknown-scope', 'A token cannot have another scope: 400.', async (it) => {
    it.refuses(await createOwnToken(it, { scopes: ['vouchers:conform'] }), 400)
  }),
  probe('required-scope', 'A 403 names the missing scope in details.required_scope.', (it) =>
    checkRefusal(it, ({ details }) => it.equals('required_scope', details.required_scope, 'vouchers:issue')),
  ),
  probe('www-authenticate', 'A 403 names the missing scope in the header WWW-Authenticate.', { plain: true }, (it) =>
    checkRefusal(it, ({ headers }) => {
      const header = headers['www-authenticate'] ?? ''
      it.holds(/(?<![\w:])vouchers:issue(?![\w:])/.test(header), 'a header that names vouchers:issue', header)
    }),
  ),
  probe('bot-issue', 'A bot without vouchers:issue gets 403 for an issue.', async (it) => {
    const input = { chat_id: 'chat_conform', template_id: 'tpl_conform', external_issue_id: it.resources.name() }
    const as = { credential: await botToken(it) }
    it.refuses(await it.call(bots.issue, input, { as }), 403)
  }),
  probe('bot-templates-read', 'The template list of a bot without vouchers:read is 403.', async (it) => {
    const { id: botId } = await approvedBot(it)
    it.refuses(await it.call(bots.templates, { botId }), 403)
  }),
  probe('bot-templates-write', 'Template changes of a bot without vouchers:templates:write are 403.', async (it) => {
    const { id: botId } = await approvedBot(it)
    it.refuses(await it.call(bots.createTemplate, { botId, ...templateInput(it) }), 403)
    it.refuses(await it.call(bots.submitTemplate, { botId, templateId: 'tpl_conform' }), 403)
  }),
]
