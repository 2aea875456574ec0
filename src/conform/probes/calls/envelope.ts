import { contract } from '../../../contract/index.js'
import { application, applicationToken, createdApplication, draft } from '../../fixtures.js'
import { type Define, probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import {
  anonymousRead,
  botIssued,
  createdTemplate,
  createdToken,
  issued,
  jsonType,
  needsSuccess,
  redeemed,
  verification,
} from './shared.js'

const probe = probesOf('envelope', { needs: ['token'] })
const reading = probe.with({ reads: true })
const anonymous = probe.with({ needs: [], reads: true })
const voucherProbe = probe.with({ needs: ['token', 'template'] })
const chatProbe = probe.with({ needs: ['bot', 'chat', 'template', 'token'] })
const accountProbe = probe.with({ needs: ['jwt'] })
const accountRead = accountProbe.with({ reads: true })
const secureRead = probe.with({ needs: ['secure'], reads: true })
const { tokens, templates, bots, webhook } = contract
const SECURE = '/api/v1/secure'

const isText = (value: unknown) => typeof value === 'string' && value !== ''

const listed = (it: ProbeContext) => it.call(templates.list, {})

/** Defines a probe that tests the member names of a record. */
const namesOf = (
  define: Define,
  number: number,
  style: 'camelCase' | 'snake_case',
  name: string,
  read: (it: ProbeContext) => Promise<unknown>,
) =>
  define(number, `names-of-${name}`, `The members of ${name.replaceAll('-', ' ')} are in ${style}.`, async (run) => {
    const pattern = style === 'camelCase' ? /^[a-z][A-Za-z0-9]*$/ : /^[a-z][a-z0-9_]*$/
    const members = Object.keys(membersOrNone(await read(run)))
    if (members.length === 0) run.notApplicable('Needs a record.')
    const others = members.filter((member) => !pattern.test(member))
    run.equals('members with other names', others, [])
  })

/** Defines a probe that tests the status of a success. */
const statusOf = (
  define: Define,
  name: string,
  status: 200 | 201,
  what: string,
  call: (it: ProbeContext) => Promise<Observed>,
) =>
  define(5, `status-of-${name}`, `The status of ${what} is ${status}.`, async (run) => {
    run.equals('status', needsSuccess(run, await call(run)).status, status)
  })

export const envelope = [
  reading.partly(3, 'success', 'A success has success: true, data and requestId.', async (run) => {
    const response = needsSuccess(run, await listed(run))
    const { success, data, requestId } = membersOrNone(response.json)
    const isThere = success === true && data !== undefined && isText(requestId)
    run.holds(isThere, 'success: true, data and requestId', response.text)
  }),
  anonymous.partly(3, 'failure', 'A failure has success: false, code, message, retryable, requestId.', async (run) => {
    const response = run.needsRefusal(await anonymousRead(run))
    const { success, code, message, retryable, requestId } = membersOrNone(response.json)
    const isThere = success === false && [code, message, requestId].every(isText) && typeof retryable === 'boolean'
    run.holds(isThere, 'success: false, code, message, retryable and requestId', response.text)
  }),
  reading(3, 'request-id-header', 'X-Request-Id repeats the requestId of a success and of a failure.', async (run) => {
    for (const response of [await listed(run), await anonymousRead(run)]) {
      const { requestId } = membersOrNone(response.json)
      if (!isText(requestId)) run.notApplicable('Needs a requestId.')
      run.equals('X-Request-Id', response.headers['x-request-id'], requestId)
    }
  }),
  probe(4, 'data-of-a-template', 'The data of a create call is the template itself.', async (run) => {
    const response = needsSuccess(run, await createdTemplate(run))
    const { id, externalTemplateId } = membersOrNone(response.data)
    run.holds(isText(id) && isText(externalTemplateId), 'data with id and externalTemplateId', response.text)
  }),
  voucherProbe(4, 'data-of-an-issue', 'The data of an issue is the voucher itself, with credentials.', async (run) => {
    const response = needsSuccess(run, await issued(run))
    const { id, externalIssueId, credentials } = membersOrNone(response.data)
    const isThere = isText(id) && isText(externalIssueId) && Array.isArray(credentials)
    run.holds(isThere, 'data with id, externalIssueId and credentials', response.text)
  }),
  chatProbe(4, 'data-of-a-bot-issue', 'The data of an issue by a bot has delivery.', async (run) => {
    const response = needsSuccess(run, await botIssued(run))
    const { delivery } = membersOrNone(response.data)
    run.holds(delivery !== undefined, 'data with delivery', response.text)
  }),
  accountRead(4, 'items-of-bots', 'The items of the list of bots are a member of data.', async (run) => {
    const response = needsSuccess(run, await run.call(bots.list, {}))
    run.holds(Array.isArray(membersOrNone(response.data).items), 'data with items', response.text)
  }),
  probe.with({ needs: ['jwt', 'bot id'] })(
    4,
    'delivery-mode',
    'The delivery_mode after the removal of a webhook is a member of data.',
    async (run) => {
      const response = needsSuccess(run, await run.call(webhook.delete, { botId: run.resources.offer.botId }))
      run.holds(isText(membersOrNone(response.data).delivery_mode), 'data with delivery_mode', response.text)
    },
  ),
  statusOf(accountProbe, 'a-created-application', 201, 'the creation of an application', createdApplication),
  statusOf(accountProbe, 'a-created-token', 201, 'the creation of a token', createdToken),
  statusOf(probe, 'a-created-template', 201, 'the creation of a template', createdTemplate),
  statusOf(voucherProbe, 'an-issue', 201, 'an issue', issued),
  statusOf(reading, 'a-list', 200, 'a list', listed),
  statusOf(probe, 'a-submission', 200, 'the submission of a template', async (run) => {
    const { id } = await draft(run)
    return run.call(templates.submit, { templateId: id })
  }),
  statusOf(voucherProbe, 'a-redemption', 200, 'a redemption', async (it) => (await redeemed(it)).response),
  statusOf(voucherProbe, 'a-verification', 200, 'a verification', verification),
  statusOf(accountProbe, 'a-removal', 200, 'the revocation of a token', async (run) => {
    const { id: appId } = await application(run)
    const { id: tokenId } = await applicationToken(run, appId, ['vouchers:verify'])
    return run.call(tokens.revoke, { appId, tokenId })
  }),
  namesOf(accountProbe, 6, 'camelCase', 'an-application', async (it) => (await createdApplication(it)).data),
  namesOf(accountProbe, 6, 'camelCase', 'a-token', async (it) => (await createdToken(it)).data),
  namesOf(probe.specified, 2, 'camelCase', 'a-template', async (it) => (await createdTemplate(it)).data),
  namesOf(voucherProbe, 6, 'camelCase', 'a-voucher', async (it) => (await issued(it)).data),
  namesOf(voucherProbe, 6, 'camelCase', 'a-redemption', async (it) => (await redeemed(it)).response.data),
  namesOf(
    accountRead.specified,
    2,
    'snake_case',
    'a-bot',
    async (it) => (await it.call(bots.list, { limit: 1 })).data.items[0],
  ),
  secureRead(3, 'encrypted-transport', 'The success of the call for bootstrap has no envelope.', async (run) => {
    const response = needsSuccess(
      run,
      await run.send({ method: 'GET', path: `${SECURE}/bootstrap`, headers: {}, plain: true }),
    )
    const { data, kid } = membersOrNone(response.json)
    run.holds(data === undefined && isText(kid), 'kid as a member of the body', response.text)
  }),
  probe.with({ needs: ['secure'] })(
    3,
    'failure-of-the-encrypted-transport',
    'A failure of the call that opens an encrypted session has the envelope.',
    async (run) => {
      const request = { method: 'POST', path: `${SECURE}/session`, headers: jsonType, body: '{}', plain: true } as const
      const response = run.needsRefusal(await run.send(request))
      const { success, code, requestId } = membersOrNone(response.json)
      run.holds(success === false && isText(code) && isText(requestId), 'code and requestId', response.text)
    },
  ),
]
