import { type Endpoint, type Scope, scopes } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { approvedBot, botToken } from '../../bot-fixtures.js'
import { templateInput } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Caller, Observed, ProbeContext } from '../../probe-context.js'
import { createOwnToken, fullToken, unknownCredential, unknownIssue, withToken } from './shared.js'

const nameOf = (scope: string) => scope.replaceAll(':', '-')
const probe = probesOf('scopes', { kind: 'credential', needs: ['jwt'] })
const plainProbe = probe.with({ plain: true })
const { bots, templates, vouchers } = contract

type Call = readonly [endpoint: Endpoint, input: (it: ProbeContext) => Readonly<Record<string, unknown>>]

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

/** Makes the calls of a scope, and registers a created template for removal. */
async function makeCalls(
  run: ProbeContext,
  scope: Scope,
  as: Caller,
  check: (response: Observed) => void,
): Promise<void> {
  for (const [endpoint, input] of callsOf[scope]) {
    const sent = input(run)
    // Another rule tests that the body of these two may be absent.
    const body = endpoint === templates.submit || endpoint === vouchers.reverse ? { body: '{}' } : {}
    const response = await run.call(endpoint, sent, { as, ...body })
    if (endpoint === templates.create && response.isSuccess) {
      run.resources.leaves('template', String(sent.external_template_id))
    }
    check(response)
  }
}

/** Makes the calls of a scope with a token that has every other scope. */
async function callWithout(run: ProbeContext, scope: Scope, check: (response: Observed) => void): Promise<void> {
  const { token } = await fullToken(run)
  run.needs(await run.call(templates.list, {}, { as: { credential: token } }), 'an application that may call')
  const others = scopes.filter((one) => one !== scope)
  await withToken(run, others, (as) => makeCalls(run, scope, as, check))
}

/** Checks the refusal of a call without its scope. */
async function checkRefusal(run: ProbeContext, check: (response: Observed) => void): Promise<void> {
  await callWithout(run, 'vouchers:issue', (response) => {
    run.needsRefusal(response, 403)
    check(response)
  })
}

export const scopeProbes = [
  ...scopes.map((scope) =>
    probe.specified(1, `without-${nameOf(scope)}`, `A call that needs ${scope} is 403 for a token without it.`, (run) =>
      callWithout(run, scope, (response) => run.refuses(response, 403)),
    ),
  ),
  ...scopes.map((scope) =>
    probe.specified(1, `with-${nameOf(scope)}`, `A token with ${scope} alone may make the calls of it.`, (run) =>
      withToken(run, [scope], (as) =>
        makeCalls(run, scope, as, ({ status, code }) => {
          if (code === 'APPLICATION_DISABLED' || code === 'FEATURE_UNAVAILABLE') {
            run.notApplicable('Needs an application that may call.')
          }
          run.holds(status !== 403, 'another status than 403', `status 403 ${code}`)
        }),
      ),
    ),
  ),
  probe(1, 'unknown-scope', 'A token cannot have another scope: 400.', async (run) => {
    run.refuses(await createOwnToken(run, { scopes: ['vouchers:conform'] }), 400)
  }),
  probe(2, 'required-scope', 'A 403 names the missing scope in details.required_scope.', (run) =>
    checkRefusal(run, ({ details }) => run.equals('required_scope', details.required_scope, 'vouchers:issue')),
  ),
  plainProbe(2, 'www-authenticate', 'A 403 names the missing scope in the header WWW-Authenticate.', (run) =>
    checkRefusal(run, ({ headers }) => {
      const header = headers['www-authenticate'] ?? ''
      run.holds(/(?<![\w:])vouchers:issue(?![\w:])/.test(header), 'a header that names vouchers:issue', header)
    }),
  ),
  probe(2, 'bot-issue', 'A bot without vouchers:issue gets 403 for an issue.', async (run) => {
    const input = { chat_id: 'chat_conform', template_id: 'tpl_conform', external_issue_id: run.resources.name() }
    const as = { credential: await botToken(run) }
    run.refuses(await run.call(bots.issue, input, { as }), 403)
  }),
  probe.partly(1, 'bot-templates-read', 'The template list of a bot without vouchers:read is 403.', async (run) => {
    const { id: botId } = await approvedBot(run)
    run.refuses(await run.call(bots.templates, { botId }), 403)
  }),
  probe.partly(
    1,
    'bot-templates-write',
    'Template changes of a bot without vouchers:templates:write are 403.',
    async (run) => {
      const { id: botId } = await approvedBot(run)
      run.refuses(await run.call(bots.createTemplate, { botId, ...templateInput(run) }), 403)
      run.refuses(await run.call(bots.submitTemplate, { botId, templateId: 'tpl_conform' }), 403)
    },
  ),
]
