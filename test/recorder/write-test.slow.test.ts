import { expect, it, onTestFinished } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { Activity } from '../../src/server/observe/activity.js'
import { runTest } from '../support/recorder/run-test.js'
import { START_MS, testApp } from '../support/server/app.js'
import { botBody, codeOf, newTenant, serial, type Tenant } from '../support/server/tenant.js'

const { bots, platform, templates, tokens, vouchers, webhook } = contract

async function started() {
  const server = testApp({ activity: new Activity({ now: () => START_MS, inspect: true }) })
  onTestFinished(() => server.close())
  return newTenant(server)
}

const orderOf = (templateId: string) => ({
  template_id: templateId,
  external_issue_id: `order-${serial()}`,
  recipient_user_id: 'user-1',
})

type Sent = { readonly headers: object; readonly status: number; readonly code?: string | null }

const calls: Readonly<Record<string, (tenant: Tenant) => Promise<Sent>>> = {
  'a redeem of an issued voucher': async (tenant) => {
    const issued = await tenant.runtime(vouchers.issue, orderOf((await tenant.template()).id))
    return tenant.runtime(vouchers.redeem, { credential: codeOf(issued.data), reference: 'till-4' })
  },
  'a redeem of a redeemed voucher': async (tenant) => {
    const issued = await tenant.runtime(vouchers.issue, orderOf((await tenant.template()).id))
    const redeem = () => tenant.runtime(vouchers.redeem, { credential: codeOf(issued.data) })
    await redeem()
    return redeem()
  },
  'a verification of an unknown code': (tenant) =>
    tenant.runtime(vouchers.verify, { credential: { type: 'redeem_code', value: 'M9S3-46Q3-D25V-T4FJ' } }),
  'a submission of a draft': async (tenant) =>
    tenant.runtime(templates.submit, { templateId: (await tenant.draft()).id }),
  'a refused input of an account': (tenant) => tenant.console(contract.apps.create, { name: '' }),
  'a message of a bot': async (tenant) => {
    const bot = await tenant.bot()
    const chat = await tenant.operator(platform.createChat, { bot_id: bot.id, user_id: 'user-1' })
    return bot.call(bots.send, { chat_id: chat.data.id, text: "it's `${x}`\n\\ é \u2028\u202e" })
  },
  'a bot of an account': (tenant) => tenant.console(bots.apply, botBody()),
  'a webhook of an account': async (tenant) => {
    const bot = await tenant.bot()
    const input = { botId: bot.id, url: 'https://app.example/updates', secret_token: 'a-secret-of-the-tests' }
    return tenant.console(webhook.set, input)
  },
  'a token of an application': (tenant) =>
    tenant.console(tokens.create, { appId: tenant.appId, name: 'till', scopes: ['vouchers:read'] }),
  'an approval of the operator': async (tenant) =>
    tenant.operator(platform.approveTemplate, { templateId: (await tenant.reviewing()).id }),
  'a call that a planted fault failed': async (tenant) => {
    await tenant.operator(platform.addFault, { endpoint: 'templates.list', kind: 'error', times: 1 })
    return tenant.runtime(templates.list, {})
  },
}

it.each(Object.entries(calls))('copied test passes on a new server for %s', async (_what, make) => {
  const tenant = await started()
  const { headers, status, code } = await make(tenant)
  const ids = [String((headers as Record<string, unknown>)['x-request-id'])]
  const { text, remarks } = (await tenant.operator(platform.recordScenario, { ids, format: 'test' })).data
  expect(text).toContain(` responds with ${code ?? status}`)
  expect(text).not.toContain(tenant.token)
  // Such a character would show the code in another order than it runs.
  expect(text).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}]/u)
  const { exitCode, stdout } = await runTest(text ?? '')
  expect({ exitCode, stdout, text, remarks }).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^# pass 1$/m),
  })
})

it('copied test fails if the server responds with another result', async () => {
  const tenant = await started()
  const { headers } = await tenant.console(contract.apps.create, { name: 'Shop' })
  const ids = [String(headers['x-request-id'])]
  const { text } = (await tenant.operator(platform.recordScenario, { ids, format: 'test' })).data
  expect(await runTest((text ?? '').replace('[201,', '[200,'))).toMatchObject({ exitCode: 1 })
})

it('copied test does not exist for a call whose record no step can create', async () => {
  const tenant = await started()
  const { id } = await tenant.newToken()
  const { headers } = await tenant.console(tokens.revoke, { appId: tenant.appId, tokenId: id })
  const ids = [String(headers['x-request-id'])]
  const { text, remarks } = (await tenant.operator(platform.recordScenario, { ids, format: 'test' })).data
  expect([text, remarks]).toEqual([null, [expect.stringContaining('was created before')]])
})

it('copied test leaves deliveries and unknown calls out, with a remark', { tags: 'scenarios/4' }, async () => {
  const tenant = await started()
  const { headers } = await tenant.place.send({
    method: 'GET',
    path: '/unknown',
    headers: { authorization: `Bearer ${tenant.token}` },
  })
  const ids = [String(headers['x-request-id'])]
  const { text, remarks } = (await tenant.operator(platform.recordScenario, { ids, format: 'test' })).data
  expect([text, remarks]).toEqual([null, [expect.stringContaining('a test makes calls of the contract only.')]])
})
