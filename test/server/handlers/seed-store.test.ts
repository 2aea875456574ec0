import { describe, expect, it, onTestFinished } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { type TestApp, testApp } from '../../support/server/app.js'
import { callerOf } from '../../support/server/client.js'
import { seed, seedBotToken, seedToken } from '../../support/server/seed.js'
import { newTenant } from '../../support/server/tenant.js'

const { platform } = contract

function emptyServer(store?: TestApp['deps']['store']) {
  const server = testApp(store === undefined ? {} : { store })
  onTestFinished(() => server.close())
  return { server, operator: callerOf(server.send, server.operatorKey) }
}

async function changesOf({ send, operatorKey }: TestApp): Promise<string[]> {
  const headers = { authorization: `Bearer ${operatorKey}` }
  const { text } = await send({ method: 'GET', path: platform.activity.path, headers })
  const lines = text.split('\n').flatMap((it) => (it === '' ? [] : [JSON.parse(it)]))
  return lines.flatMap((it) => (it.kind === 'state' ? [it.what] : []))
}

describe('seeds through the operator API', () => {
  it('example has an application, an active template and a linked bot, with tokens that work', async () => {
    const { server, operator } = emptyServer()
    const { planted, applications, bots } = (await operator(platform.seedStore, {})).data
    expect(planted).toBe(true)
    expect(applications).toMatchObject([{ name: 'Coffee shop', tokens: [{ name: 'example' }] }])
    expect(bots).toMatchObject([{ username: 'coffee_bot' }])
    const program = callerOf(server.send, String(applications[0]?.tokens[0]?.token))
    const [template] = (await program(contract.templates.list, {})).data.items
    expect(template).toMatchObject({ status: 'active', issuedCount: 0, issueLimit: 1_000_000_000 })
    const input = { template_id: String(template?.id), external_issue_id: 'one', recipient_user_id: 'user-1' }
    expect((await program(contract.vouchers.issue, input)).status).toBe(201)
    const bot = callerOf(server.send, String(bots[0]?.token))
    expect((await bot(contract.bots.updates, {})).data.items).toMatchObject([{ type: 'voucher_issued' }])
    const listed = (await operator(platform.bots, {})).data.items
    expect(listed).toMatchObject([{ name: 'Coffee bot', status: 'active', application_id: applications[0]?.id }])
    expect(await changesOf(server)).toEqual(['seed'])
  })

  it('each example has new tokens and ids', async () => {
    const texts = await Promise.all(
      ['one', 'two'].map(async (name) => {
        const server = testApp({ random: (size) => new Uint8Array(size).fill(name.length + name.charCodeAt(0)) })
        onTestFinished(() => server.close())
        const { applications, bots } = (await callerOf(server.send, server.operatorKey)(platform.seedStore, {})).data
        return [applications[0]?.tokens[0]?.token, bots[0]?.token]
      }),
    )
    expect(new Set(texts.flat()).size).toBe(4)
  })

  it('given seed is planted with its tokens and faults, and a repeated call changes nothing', async () => {
    const { server, operator } = emptyServer()
    const faults = [{ endpoint: 'vouchers.redeem', kind: 'error', times: 1 }]
    const plant = async () => (await operator(platform.seedStore, { seed: { ...seed, faults } })).data
    const expected = {
      applications: [
        { id: 'app_coffee', name: 'Coffee shop', tokens: [{ id: 'tok_till', name: 'till', token: seedToken }] },
      ],
      bots: [
        { id: 'bot_coffee', username: 'coffee_bot', token: seedBotToken },
        { id: 'bot_new', username: 'new_bot', token: null },
      ],
    }
    expect(await plant()).toEqual({ planted: true, ...expected })
    expect(await plant()).toEqual({ planted: false, ...expected })
    expect((await operator(platform.faults, {})).data.items).toMatchObject(faults)
    expect((await changesOf(server)).filter((it) => it === 'seed')).toHaveLength(1)
    const program = callerOf(server.send, seedToken)
    expect((await program(contract.templates.list, {})).data.items).toHaveLength(2)
  })

  it('store with other records is refused and stays as it is', { tags: 'seeds/3' }, async () => {
    const { server, operator } = emptyServer()
    await newTenant(server)
    const before = (await operator(platform.applications, {})).data
    for (const input of [{}, { seed }]) {
      const response = await operator(platform.seedStore, input)
      expect([response.status, response.code]).toEqual([409, 'STORE_NOT_EMPTY'])
    }
    expect((await operator(platform.applications, {})).data).toEqual(before)
    expect((await operator(platform.bots, {})).data.items).toEqual([])
    expect(await changesOf(server)).toEqual([])
  })

  it('exactly one of two concurrent seeds is planted, also by two servers of one store', async () => {
    const one = emptyServer()
    const two = emptyServer(one.server.deps.store)
    const made = await Promise.all([one, two, one].map(({ operator }) => operator(platform.seedStore, {})))
    expect(made.map((it) => it.status).sort()).toEqual([200, 409, 409])
    expect((await one.operator(platform.applications, {})).data.pagination.total).toBe(1)
    expect((await one.operator(platform.templates, {})).data.pagination.total).toBe(1)
    expect((await one.operator(platform.bots, {})).data.pagination.total).toBe(1)
  })

  it('mistakes in a seed are named by their place, without its tokens', async () => {
    const { operator } = emptyServer()
    const wrong = `${seedToken.slice(0, -1)}x`
    const bots = [{ id: 'bot_1', name: 'Bot', username: 'a_bot', token: wrong, [seedBotToken]: 1 }]
    const misnamed = await operator(platform.seedStore, { seed: { account: 'acme', bots } })
    expect([misnamed.status, misnamed.code]).toEqual([400, 'VALIDATION_FAILED'])
    expect(misnamed.text).not.toContain(seedBotToken.slice(0, 12))
    const checked = { ...bots[0], [seedBotToken]: undefined }
    const refused = await operator(platform.seedStore, { seed: { account: 'acme', bots: [checked] } })
    expect(refused.details.errors).toMatchObject([{ pointer: '/seed/bots/0/token' }])
    expect(refused.text).not.toContain(wrong)
    for (const [input, pointer] of [
      [{ seed: {} }, '/seed/account'],
      [{ seed: [] }, '/seed'],
      [{ sed: {} }, '/sed'],
    ] as const) {
      const response = await operator(platform.seedStore, input as never)
      expect(response.details.errors).toMatchObject([{ pointer }])
    }
    expect((await operator(platform.applications, {})).data.items).toEqual([])
  })

  it('seed of more than 64 KiB is accepted', async () => {
    const { operator } = emptyServer()
    const applications = Array.from({ length: 60 }, (_, at) => ({
      id: `app_${at}`,
      name: 'Shop',
      description: 'x'.repeat(500),
      account: `account-${at}`,
      tokens: [],
      templates: seed.applications?.[0]?.templates?.map((it) => ({ ...it, id: `tpl_${at}_${it.id}` })) ?? [],
    }))
    const given = { account: 'acme', applications }
    expect(JSON.stringify(given).length).toBeGreaterThan(65_536)
    expect((await operator(platform.seedStore, { seed: given })).data.planted).toBe(true)
    expect((await operator(platform.templates, {})).data.pagination.total).toBe(120)
  })

  it('log lines and activity of a seed have none of its tokens', async () => {
    const lines: unknown[] = []
    const server = testApp({}, { onRequestDone: (entry) => lines.push(entry) })
    onTestFinished(() => server.close())
    const operator = callerOf(server.send, server.operatorKey)
    const planted = await operator(platform.seedStore, {})
    const { text } = await server.send({
      method: 'GET',
      path: `${platform.activity.path}?bodies=true`,
      headers: { authorization: `Bearer ${server.operatorKey}` },
    })
    const tokens = [planted.data.applications[0]?.tokens[0]?.token, planted.data.bots[0]?.token].map(String)
    for (const token of tokens) expect(JSON.stringify(lines) + text).not.toContain(token)
    expect(tokens[0]).toMatch(/^sop_/)
  })
})
