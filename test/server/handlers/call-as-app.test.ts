import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { InputOf } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import type { MadeCall } from '../../../src/contract/platform/acting.js'
import type { ActivityLine, RequestLogEntry } from '../../../src/contract/platform/activity.js'
import { createLimits } from '../../../src/server/limits.js'
import { linesOf, sharedApp, testApp } from '../../support/server/app.js'
import { callerOf } from '../../support/server/client.js'
import { liveServer } from '../../support/server/server.js'
import { codeOf, newTenant, serial, type Tenant, templateBody } from '../../support/server/tenant.js'

const { platform, vouchers, templates } = contract

const server = sharedApp()
let tenant: Tenant
let templateId: string
beforeAll(async () => {
  tenant = await newTenant(server)
  templateId = (await tenant.template()).id
})

type Input = Omit<InputOf<typeof platform.callAsApp>, 'appId'>
const send = (input: Input, of = tenant) => of.operator(platform.callAsApp, { appId: of.appId, ...input })
const make = async (input: Input, of = tenant): Promise<MadeCall> => (await send(input, of)).data
const dataOf = ({ body }: MadeCall) => body?.data as Record<string, unknown>
const issueInput = () => ({
  template_id: templateId,
  external_issue_id: `issue-${serial()}`,
  recipient_user_id: 'user-1',
})

describe('calls as an application', () => {
  it('operator makes every runtime call of an application token', async () => {
    const created = await make({ endpoint: 'templates.create', input: { ...templateBody() } })
    const { id } = dataOf(created)
    const submitted = await make({ endpoint: 'templates.submit', input: { templateId: id } })
    const listed = await make({ endpoint: 'templates.list', input: { limit: 1 } })
    const issued = await make({ endpoint: 'vouchers.issue', input: issueInput() })
    const voucher_id = String(dataOf(issued).id)
    const verified = await make({ endpoint: 'vouchers.verify', input: {}, voucher_id })
    const redeemed = await make({ endpoint: 'vouchers.redeem', input: { reference: 'till-4' }, voucher_id })
    const redemptionId = dataOf(redeemed).id
    const read = await make({ endpoint: 'vouchers.redemption', input: { redemptionId } })
    const reversed = await make({ endpoint: 'vouchers.reverse', input: { redemptionId, reason: 'wrong till' } })
    const calls = [created, submitted, listed, issued, verified, redeemed, read, reversed]
    expect(calls.map((it) => [it.status, it.code])).toEqual(
      [201, 200, 200, 201, 200, 200, 200, 200].map((it) => [it, null]),
    )
    expect(dataOf(listed)).toMatchObject({ items: [{}], pagination: { limit: 1, total: 2 } })
    expect(dataOf(verified)).toMatchObject({ redeemable: true })
    expect(dataOf(reversed)).toMatchObject({ status: 'reversed', reference: 'till-4' })
    expect(read.request).toMatchObject({ method: 'GET', idempotency_key: null, body: null })
    const template = (await tenant.runtime(templates.list, {})).data.items.find((it) => it.id === templateId)
    expect(template?.issuedCount).toBe(1)
  })

  it('call shows request and response without the voucher credentials', {
    tags: 'acting-for-others/1',
  }, async () => {
    const input = issueInput()
    const issued = await send({
      endpoint: 'vouchers.issue',
      input,
      idempotency_key: `order-${input.external_issue_id}`,
    })
    const voucherId = String(dataOf(issued.data).id)
    expect(issued.data.request).toEqual({
      method: 'POST',
      url: vouchers.issue.path,
      idempotency_key: `order-${input.external_issue_id}`,
      body: input,
    })
    const redeemed = await send({ endpoint: 'vouchers.redeem', input: {}, voucher_id: voucherId })
    expect(redeemed.data.request.body).toEqual({ credential: { type: 'redeem_code', value: '[hidden]' } })
    const { credentials } = (await tenant.operator(platform.showCredentials, { voucherId })).data
    for (const { value } of credentials) expect(issued.text + redeemed.text).not.toContain(value)
  })

  it('operator calls make no token; log, activity, history mark them', { tags: 'acting-for-others/2' }, async () => {
    const input = issueInput()
    const issued = await make({ endpoint: 'vouchers.issue', input })
    const voucherId = String(dataOf(issued).id)
    await make({ endpoint: 'vouchers.verify', input: {}, voucher_id: voucherId })
    await make({ endpoint: 'vouchers.redeem', input: {}, voucher_id: voucherId })
    await tenant.issue(templateId)
    const log = (await linesOf<RequestLogEntry>(server, platform.requests.path)).slice(-7)
    expect(log.map((it) => [it.endpoint, it.by_operator])).toEqual([
      ['vouchers.issue', true],
      ['platform.callAsApp', undefined],
      ['vouchers.verify', true],
      ['platform.callAsApp', undefined],
      ['vouchers.redeem', true],
      ['platform.callAsApp', undefined],
      ['vouchers.issue', undefined],
    ])
    expect(log[0]).toMatchObject({ application_id: tenant.appId, voucher_id: voucherId, status: 201 })
    const shown = (await linesOf<ActivityLine>(server, platform.activity.path)).flatMap((it) =>
      it.kind === 'request' ? [it.request] : [],
    )
    expect(shown.slice(-4).map((it) => [it.endpoint, it.by_operator])).toEqual([
      ['vouchers.issue', true],
      ['vouchers.verify', true],
      ['vouchers.redeem', true],
      ['vouchers.issue', undefined],
    ])
    const { events } = (await tenant.operator(platform.voucher, { voucherId })).data
    expect(events.map((it) => [it.type, it.by_operator, it.token_prefix])).toEqual([
      ['issued', true, null],
      ['verified', true, null],
      ['redeemed', true, null],
    ])
    const tokens = (await tenant.console(contract.tokens.list, { appId: tenant.appId })).data.items
    expect(tokens.map((it) => it.id)).toEqual([tenant.tokenId])
  })

  it('inactive or featureless application is refused as for its programs', { tags: 'applications/3' }, async () => {
    const own = await newTenant(server)
    const { appId } = own
    const list = () => make({ endpoint: 'templates.list', input: {} }, own)
    const refusals: unknown[] = []
    const note = async () => {
      const { status, code, body } = await list()
      const program = await own.runtime(templates.list, {})
      expect([status, code]).toEqual([program.status, program.code])
      refusals.push([code, body?.details])
    }
    await own.console(contract.apps.update, { appId, status: 'disabled' })
    await note()
    await own.console(contract.apps.update, { appId, status: 'active' })
    await own.operator(platform.suspendApp, { appId })
    await note()
    await own.operator(platform.reinstateApp, { appId })
    await own.operator(platform.setAppFeatures, { appId, features: [] })
    await note()
    expect(refusals).toEqual([
      ['APPLICATION_DISABLED', { status: 'disabled' }],
      ['APPLICATION_DISABLED', { status: 'suspended' }],
      ['FEATURE_UNAVAILABLE', undefined],
    ])
  })

  it('no policy on encryption or origins refuses the operator', { tags: 'acting-for-others/1' }, async () => {
    const own = await newTenant(server)
    const allowed_origins = ['https://a.example']
    await own.console(contract.apps.update, { appId: own.appId, secure_transport: 'required', allowed_origins })
    expect((await own.runtime(templates.list, {})).code).toBe('SECURE_TRANSPORT_REQUIRED')
    const { deps } = server
    const strict = testApp({ store: deps.store, secure: { ...deps.secure, required: true } })
    const operator = callerOf(strict.send, strict.operatorKey)
    const call = { appId: own.appId, endpoint: 'templates.list', input: {} } as const
    expect((await operator(platform.callAsApp, call)).data.status).toBe(200)
    await strict.close()
  })

  it('a call as an application uses its idempotency keys', async () => {
    const input = issueInput()
    const program = await tenant.runtime(vouchers.issue, input, { key: 'shared-key' })
    const again = await make({ endpoint: 'vouchers.issue', input, idempotency_key: 'shared-key' })
    expect([again.status, dataOf(again).id]).toEqual([201, program.data.id])
    const other = await make({ endpoint: 'vouchers.issue', input: issueInput(), idempotency_key: 'shared-key' })
    expect([other.status, other.code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
    const malformed = await make({ endpoint: 'vouchers.issue', input, idempotency_key: 'two words' })
    expect(malformed.code).toBe('IDEMPOTENCY_KEY_INVALID')
    const both = await Promise.all([1, 2].map(() => make({ endpoint: 'vouchers.issue', input: issueInput() })))
    expect(new Set(both.map((it) => it.request.idempotency_key)).size).toBe(2)
  })

  it('voucher that operator and program redeem concurrently is redeemed once', async () => {
    const voucher = await tenant.issue(templateId)
    const credential = codeOf(voucher)
    const made = await Promise.all([
      make({ endpoint: 'vouchers.redeem', input: {}, voucher_id: voucher.id }),
      tenant.runtime(vouchers.redeem, { credential }),
      make({ endpoint: 'vouchers.redeem', input: { credential } }),
    ])
    expect(made.map((it) => it.status).sort()).toEqual([200, 409, 409])
    expect(made.flatMap((it) => it.code ?? [])).toEqual(['VOUCHER_ALREADY_REDEEMED', 'VOUCHER_ALREADY_REDEEMED'])
  })

  it('calls of operator and programs count against the same rate limit', async () => {
    const limits = createLimits({ reads: { calls: 2, seconds: 60 } }, () => 0)
    const own = testApp({ store: server.deps.store, limits })
    const { appId, token } = tenant
    const operator = callerOf(own.send, own.operatorKey)
    const list = async () =>
      (await operator(platform.callAsApp, { appId, endpoint: 'templates.list', input: {} })).data.code
    const program = async () => (await callerOf(own.send, token)(templates.list, {})).code
    expect([await list(), await program(), await list(), await program()]).toEqual([
      null,
      null,
      'RATE_LIMITED',
      'RATE_LIMITED',
    ])
    await own.close()
  })

  it('faults of an endpoint affect the operator too', async () => {
    await tenant.operator(platform.addFault, { endpoint: 'vouchers.issue', kind: 'error', times: 1 })
    const input = issueInput()
    expect((await make({ endpoint: 'vouchers.issue', input })).code).toBe('SERVICE_UNAVAILABLE')
    expect((await make({ endpoint: 'vouchers.issue', input })).status).toBe(201)
  })

  it('mistakes in the input of the call are refused by its endpoint', async () => {
    const unknown = await make({ endpoint: 'vouchers.issue', input: { ...issueInput(), __proto__x: 1 } })
    expect([unknown.status, unknown.code]).toEqual([400, 'VALIDATION_FAILED'])
    const query = await make({ endpoint: 'templates.list', input: { limit: 'many', other: { a: 1 } } })
    expect(query.code).toBe('VALIDATION_FAILED')
    const path = await make({ endpoint: 'vouchers.redemption', input: { redemptionId: '../../applications?a=b' } })
    expect([path.code, path.request.url]).toEqual([
      'REDEMPTION_NOT_FOUND',
      '/api/v1/open-platform/vouchers/redemptions/[hidden]',
    ])
    const large = await make({ endpoint: 'vouchers.verify', input: { credential: 'x'.repeat(60_000) } })
    expect(large.code).toBe('VALIDATION_FAILED')
  })

  it.each([
    [{ endpoint: 'vouchers.redemption', input: {} }, '/input/redemptionId'],
    [{ endpoint: 'templates.submit', input: { templateId: '' } }, '/input/templateId'],
    [{ endpoint: 'templates.submit', input: { templateId: '\ud800' } }, '/input/templateId'],
    [{ endpoint: 'vouchers.issue', input: {}, voucher_id: 'vch_1' }, '/voucher_id'],
    [{ endpoint: 'vouchers.redeem', input: { credential: {} }, voucher_id: 'vch_1' }, '/voucher_id'],
    [{ endpoint: 'apps.list', input: {} }, '/endpoint'],
    [{ endpoint: 'bots.send', input: {} }, '/endpoint'],
    [{ endpoint: 'platform.reset', input: {} }, '/endpoint'],
    [{ endpoint: 'vouchers.issue', input: [] }, '/input'],
    [{ endpoint: 'templates.list' }, '/input'],
  ])('call as an application with %j is refused', async (input, pointer) => {
    const response = await send(input as Input)
    expect([response.status, response.details.errors]).toMatchObject([400, [{ pointer }]])
  })

  it('voucher of another application and unknown ids are refused', { tags: 'acting-for-others/1' }, async () => {
    const other = await newTenant(server)
    const { id } = await other.issue()
    const call = { endpoint: 'vouchers.redeem', input: {} } as const
    expect((await send({ ...call, voucher_id: id })).code).toBe('VOUCHER_NOT_FOUND')
    expect((await send({ ...call, voucher_id: 'vch_unknown' })).code).toBe('VOUCHER_NOT_FOUND')
    const nowhere = { appId: 'app_unknown', ...call, voucher_id: id }
    expect((await tenant.operator(platform.callAsApp, nowhere)).code).toBe('APPLICATION_NOT_FOUND')
    expect((await other.redeem(await other.issue())).status).toBe('succeeded')
  })

  it('credential in the input of the call is used and hidden', async () => {
    const voucher = await tenant.issue(templateId)
    const response = await send({ endpoint: 'vouchers.verify', input: { credential: codeOf(voucher, 'qr_token') } })
    expect(dataOf(response.data)).toMatchObject({ redeemable: true, voucher: { id: voucher.id } })
    expect(response.text).not.toContain(codeOf(voucher, 'qr_token').value)
  })

  it('no header of a client makes its call one of the operator', async () => {
    const names = ['actingfor', 'acting-for', 'application-id', 'x-application-id', 'by-operator']
    const headers = Object.fromEntries(names.map((name) => [name, tenant.appId]))
    const response = await server.send({ method: 'GET', path: templates.list.path, headers })
    expect([response.status, response.code]).toEqual([401, 'TOKEN_MISSING'])
  })

  it('reset and calls as an application do not wait for each other', async () => {
    const { gate } = server.deps
    const list = () => make({ endpoint: 'templates.list', input: {} })
    const calls = [
      list(),
      gate.runExclusive(
        async () => ({ status: 200 }),
        () => {},
      ),
      list(),
      list(),
    ]
    expect((await Promise.all(calls)).map((it) => it.status)).toEqual([200, 200, 200, 200])
  })
})

describe('log of calls as an application', () => {
  it('log line of such a call is marked and has no credential', async () => {
    const live = await liveServer()
    onTestFinished(() => live.close())
    const own = await newTenant(live)
    const voucher = await own.issue()
    const call = { appId: own.appId, endpoint: 'vouchers.redeem', input: {}, voucher_id: voucher.id } as const
    await own.operator(platform.callAsApp, call)
    await own.operator(platform.showCredentials, { voucherId: voucher.id })
    const text = live.logs.join('')
    const marked = live.logs.map((it) => JSON.parse(it)).filter((it) => it.by_operator === true)
    expect(marked).toMatchObject([{ endpoint: 'vouchers.redeem', voucher_id: voucher.id, status: 200 }])
    for (const { value } of voucher.credentials) expect(text).not.toContain(value)
  })
})

describe('credentials for the operator', () => {
  it('operator sees the credentials of a voucher; the history marks it', { tags: 'acting-for-others/2' }, async () => {
    const voucher = await tenant.issue(templateId)
    const shown = await tenant.operator(platform.showCredentials, { voucherId: voucher.id })
    expect(shown.data).toEqual({ voucher_id: voucher.id, credentials: voucher.credentials })
    const history = await tenant.operator(platform.voucher, { voucherId: voucher.id })
    expect(history.data.events.at(-1)).toMatchObject({
      type: 'shown',
      stored: false,
      by_operator: true,
      endpoint: 'platform.showCredentials',
      request_id: shown.headers['x-request-id'],
    })
    const last = (await linesOf<ActivityLine>(server, platform.activity.path)).at(-1)
    expect(last).toMatchObject({ request: { endpoint: 'platform.showCredentials', voucher_id: voucher.id } })
    const text = JSON.stringify([last, history.data])
    for (const { value } of voucher.credentials) expect(text).not.toContain(value)
  })

  it('server beyond loopback shows no credentials and makes no call as an application', {
    tags: 'acting-for-others/1',
  }, async () => {
    const { id: voucherId } = await tenant.issue(templateId)
    const open = testApp({ store: server.deps.store, isLoopback: false })
    const operator = callerOf(open.send, open.operatorKey)
    const input = issueInput()
    const refused = [
      await operator(platform.showCredentials, { voucherId }),
      await operator(platform.callAsApp, { appId: tenant.appId, endpoint: 'vouchers.issue', input }),
      await operator(platform.seedStore, {}),
    ]
    expect(refused.map((it) => [it.status, it.code])).toEqual(refused.map(() => [403, 'SERVER_NOT_LOOPBACK']))
    expect(
      (await tenant.operator(platform.vouchers, { external_issue_id: input.external_issue_id })).data.items,
    ).toEqual([])
    await open.close()
  })
})
