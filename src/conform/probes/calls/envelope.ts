import { contract } from '../../../contract/index.js'
import { application, applicationToken, createdApplication, createTemplate } from '../../fixtures.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import {
  anonymousRead,
  botIssued,
  createdTemplate,
  createdToken,
  issued,
  jsonType,
  needsStatus,
  redeemed,
  verification,
} from './shared.js'

const probe = probesOf('envelope', {
  needs: ['token'],
  specified: ['names-of-a-template', 'names-of-a-bot'],
  partly: ['success', 'failure'],
})
const { tokens, templates, bots, webhook } = contract
const SECURE = '/api/v1/secure'

const isText = (value: unknown) => typeof value === 'string' && value !== ''

const listed = (it: ProbeContext) => it.call(templates.list, {})

/** Defines a probe that observes the names of the members of a record. */
const namesOf = (
  name: string,
  style: 'camelCase' | 'snake_case',
  needs: readonly Need[],
  read: (it: ProbeContext) => Promise<unknown>,
  options: { readonly reads?: true } = {},
) => {
  const pattern = style === 'camelCase' ? /^[a-z][A-Za-z0-9]*$/ : /^[a-z][a-z0-9_]*$/
  const run = async (run: ProbeContext) => {
    const members = Object.keys(membersOrNone(await read(run)))
    if (members.length === 0) run.notApplicable('Needs a record.')
    const others = members.filter((member) => !pattern.test(member))
    run.equals('members with other names', others, [])
  }
  return probe(
    `names-of-${name}`,
    `The members of ${name.replaceAll('-', ' ')} are in ${style}.`,
    { needs, ...options },
    run,
  )
}

/** Defines a probe that observes the status of a success. */
const statusOf = (
  name: string,
  status: 200 | 201,
  what: string,
  needs: readonly Need[],
  call: (it: ProbeContext) => Promise<Observed>,
  options: { readonly reads?: true } = {},
) => {
  const run = async (run: ProbeContext) => {
    const response = await call(run)
    needsStatus(run, response, '2xx')
    run.equals('status', response.status, status)
  }
  return probe(`status-of-${name}`, `The status of ${what} is ${status}.`, { needs, ...options }, run)
}

export const envelope = [
  probe('success', 'A success has success: true, data and requestId.', { reads: true }, async (run) => {
    const response = await listed(run)
    needsStatus(run, response, '2xx')
    const { success, data, requestId } = membersOrNone(response.json)
    const isThere = success === true && data !== undefined && isText(requestId)
    run.holds(isThere, 'success: true, data and requestId', response.text)
  }),
  probe(
    'failure',
    'A failure has success: false, code, message, retryable and requestId.',
    { needs: [], reads: true },
    async (run) => {
      const response = await anonymousRead(run)
      needsStatus(run, response, '4xx')
      const { success, code, message, retryable, requestId } = membersOrNone(response.json)
      const isThere = success === false && [code, message, requestId].every(isText) && typeof retryable === 'boolean'
      run.holds(isThere, 'success: false, code, message, retryable and requestId', response.text)
    },
  ),
  probe(
    'request-id-header',
    'The header X-Request-Id repeats the requestId of a success and of a failure.',
    { reads: true },
    async (run) => {
      for (const response of [await listed(run), await anonymousRead(run)]) {
        const { requestId } = membersOrNone(response.json)
        if (!isText(requestId)) run.notApplicable('Needs a requestId.')
        run.equals('X-Request-Id', response.headers['x-request-id'], requestId)
      }
    },
  ),
  probe('data-of-a-template', 'The data of a create call is the template itself.', async (run) => {
    const response = await createdTemplate(run)
    needsStatus(run, response, '2xx')
    const { id, externalTemplateId } = membersOrNone(response.data)
    run.holds(isText(id) && isText(externalTemplateId), 'data with id and externalTemplateId', response.text)
  }),
  probe(
    'data-of-an-issue',
    'The data of an issue is the voucher itself, with credentials.',
    { needs: ['token', 'template'] },
    async (run) => {
      const response = await issued(run)
      needsStatus(run, response, '2xx')
      const { id, externalIssueId, credentials } = membersOrNone(response.data)
      const isThere = isText(id) && isText(externalIssueId) && Array.isArray(credentials)
      run.holds(isThere, 'data with id, externalIssueId and credentials', response.text)
    },
  ),
  probe(
    'data-of-a-bot-issue',
    'The data of an issue by a bot has delivery.',
    { needs: ['bot', 'chat', 'template', 'token'] },
    async (run) => {
      const response = await botIssued(run)
      needsStatus(run, response, '2xx')
      const { delivery } = membersOrNone(response.data)
      run.holds(delivery !== undefined, 'data with delivery', response.text)
    },
  ),
  probe(
    'items-of-bots',
    'The items of the list of bots are a member of data.',
    { needs: ['jwt'], reads: true },
    async (run) => {
      const response = await run.call(bots.list, {})
      needsStatus(run, response, '2xx')
      run.holds(Array.isArray(membersOrNone(response.data).items), 'data with items', response.text)
    },
  ),
  probe(
    'delivery-mode',
    'The delivery_mode after the removal of a webhook is a member of data.',
    { needs: ['jwt', 'bot id'] },
    async (run) => {
      const response = await run.call(webhook.delete, { botId: run.resources.offer.botId })
      needsStatus(run, response, '2xx')
      run.holds(isText(membersOrNone(response.data).delivery_mode), 'data with delivery_mode', response.text)
    },
  ),
  statusOf('a-created-application', 201, 'the creation of an application', ['jwt'], createdApplication),
  statusOf('a-created-token', 201, 'the creation of a token', ['jwt'], createdToken),
  statusOf('a-created-template', 201, 'the creation of a template', ['token'], createdTemplate),
  statusOf('an-issue', 201, 'an issue', ['token', 'template'], issued),
  statusOf('a-list', 200, 'a list', ['token'], listed, { reads: true }),
  statusOf('a-submission', 200, 'the submission of a template', ['token'], async (run) => {
    const { id } = run.needs(await createTemplate(run), 'a template')
    return run.call(templates.submit, { templateId: id })
  }),
  statusOf('a-redemption', 200, 'a redemption', ['token', 'template'], async (it) => (await redeemed(it)).response),
  statusOf('a-verification', 200, 'a verification', ['token', 'template'], verification),
  statusOf('a-removal', 200, 'the revocation of a token', ['jwt'], async (run) => {
    const { id: appId } = await application(run)
    const { id: tokenId } = await applicationToken(run, appId, ['vouchers:verify'])
    return run.call(tokens.revoke, { appId, tokenId })
  }),
  namesOf('an-application', 'camelCase', ['jwt'], async (it) => (await createdApplication(it)).data),
  namesOf('a-token', 'camelCase', ['jwt'], async (it) => (await createdToken(it)).data),
  namesOf('a-template', 'camelCase', ['token'], async (it) => (await createdTemplate(it)).data),
  namesOf('a-voucher', 'camelCase', ['token', 'template'], async (it) => (await issued(it)).data),
  namesOf('a-redemption', 'camelCase', ['token', 'template'], async (it) => (await redeemed(it)).response.data),
  namesOf('a-bot', 'snake_case', ['jwt'], async (it) => (await it.call(bots.list, { limit: 1 })).data.items[0], {
    reads: true,
  }),
  probe(
    'encrypted-transport',
    'The success of the call for bootstrap has no envelope.',
    { needs: ['secure'], reads: true },
    async (run) => {
      const response = await run.send({ method: 'GET', path: `${SECURE}/bootstrap`, headers: {}, plain: true })
      needsStatus(run, response, '2xx')
      const { data, kid } = membersOrNone(response.json)
      run.holds(data === undefined && isText(kid), 'kid as a member of the body', response.text)
    },
  ),
  probe(
    'failure-of-the-encrypted-transport',
    'A failure of the call that opens an encrypted session has the envelope.',
    { needs: ['secure'] },
    async (run) => {
      const request = { method: 'POST', path: `${SECURE}/session`, headers: jsonType, body: '{}', plain: true } as const
      const response = await run.send(request)
      needsStatus(run, response, '4xx')
      const { success, code, requestId } = membersOrNone(response.json)
      run.holds(success === false && isText(code) && isText(requestId), 'code and requestId', response.text)
    },
  ),
]
