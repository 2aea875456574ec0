import { expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { contract } from '../../../src/contract/index.js'
import type { RequestLogEntry } from '../../../src/contract/platform/activity.js'
import { Activity } from '../../../src/server/observe/activity.js'
import { START_MS, testApp } from '../../support/server/app.js'
import { codeOf, newTenant, serial } from '../../support/server/tenant.js'

const { platform, vouchers } = contract

/** A server that captures every exchange, with an application. */
async function started() {
  const server = testApp({ activity: new Activity({ now: () => START_MS, inspect: true }) })
  onTestFinished(() => server.close())
  const tenant = await newTenant(server)
  const order = {
    template_id: (await tenant.template()).id,
    external_issue_id: `order-${serial()}`,
    recipient_user_id: 'user-1',
  }
  const { headers, data: voucher } = await tenant.runtime(vouchers.issue, order)
  const redeem = () => tenant.runtime(vouchers.redeem, { credential: codeOf(voucher) })
  return { server, tenant, voucher, issueId: String(headers['x-request-id']), redeem }
}

const callsOf = (text: string | null) =>
  (parse(text ?? '') as { steps: { call: string }[] }).steps.map(({ call }) => call)

it('all activity of a server becomes the steps that made its records', async () => {
  const { tenant, redeem } = await started()
  await redeem()
  const { data } = await tenant.operator(platform.recordScenario, {})
  expect(data).toMatchObject({ remarks: [] })
  expect(callsOf(data.text)).toEqual(
    expect.arrayContaining(['apps.create', 'tokens.create', 'templates.create', 'vouchers.issue', 'vouchers.redeem']),
  )
  expect(callsOf(data.text)).toHaveLength(data.steps)
})

it('a recording is sent in parts, which together are valid JSON', async () => {
  const { tenant } = await started()
  const name = 'Café "x" \\ \u{1f600}'
  await tenant.console(contract.apps.create, { name })
  const { headers, data } = await tenant.operator(platform.recordScenario, {})
  expect(headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8' })
  expect(headers).not.toHaveProperty('content-length')
  const { steps } = parse(data.text ?? '') as { steps: { with?: { name?: string } }[] }
  expect(steps.map((it) => it.with?.name)).toContain(name)
})

it('a chosen refusal gets the steps that led to it, from the history of its voucher', async () => {
  const { tenant, voucher, redeem } = await started()
  await redeem()
  const refused = await redeem()
  expect(refused.code).toBe('VOUCHER_ALREADY_REDEEMED')
  const ids = [String(refused.headers['x-request-id']), 'req_unknown']
  const { text, remarks } = (await tenant.operator(platform.recordScenario, { ids })).data
  expect(callsOf(text).slice(-3)).toEqual(['vouchers.issue', 'vouchers.redeem', 'vouchers.redeem'])
  expect(parse(text ?? '').steps.at(-1).expect).toEqual({ status: 409, code: 'VOUCHER_ALREADY_REDEEMED' })
  expect(remarks).toEqual(['The server no longer has 1 of the chosen lines.'])
  expect(text).not.toContain(codeOf(voucher).value)
  expect(text).not.toContain(tenant.token)
})

it('recording repeats no event of a voucher that followed the chosen calls', async () => {
  const { tenant, issueId, redeem } = await started()
  await redeem()
  const { text } = (await tenant.operator(platform.recordScenario, { ids: [issueId] })).data
  expect(callsOf(text).filter((it) => it.startsWith('vouchers.'))).toEqual(['vouchers.issue'])
})

it('without a step the text is null', async () => {
  const { tenant } = await started()
  const { data } = await tenant.operator(platform.recordScenario, { ids: ['req_unknown'] })
  expect(data).toEqual({ text: null, steps: 0, remarks: ['The server no longer has 1 of the chosen lines.'] })
})

it('log names the voucher of a refusal, the bot of a token, and the fault that affected a call', async () => {
  const { server, tenant, voucher, redeem } = await started()
  const bot = await tenant.bot()
  await redeem()
  await redeem()
  await bot.call(contract.bots.send, { chat_id: 'chat_unknown', text: 'Hello' })
  await tenant.operator(platform.addFault, { endpoint: 'vouchers.redeem', kind: 'error', times: 1 })
  await redeem()
  const headers = { authorization: `Bearer ${server.operatorKey}` }
  const { text } = await server.send({ method: 'GET', path: '/_platform/v1/requests', headers })
  const log = text.split('\n').flatMap((it) => (it === '' ? [] : [JSON.parse(it) as RequestLogEntry]))
  const of = (code: string) => log.find((it) => it.code === code)
  expect(of('VOUCHER_ALREADY_REDEEMED')).toMatchObject({ voucher_id: voucher.id })
  expect(of('CHAT_NOT_FOUND')).toMatchObject({ bot_id: bot.id })
  expect(of('SERVICE_UNAVAILABLE')).toMatchObject({ fault: 'error' })
  expect(of('VOUCHER_ALREADY_REDEEMED')).not.toHaveProperty('fault')
})
