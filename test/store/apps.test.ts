import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Application } from '../../src/contract/apps.js'
import type { Refusal } from '../../src/contract/errors.js'
import type { ApplicationSettings } from '../../src/domain/application.js'
import * as apps from '../../src/store/apps.js'
import * as bots from '../../src/store/bots/bots.js'
import { all } from '../../src/store/operation.js'
import type { Store } from '../../src/store/store.js'
import { openTestStore } from '../support/store/engines.js'
import { locksOf, stepsOf, unusedParameters } from '../support/store/store-steps.js'

const NOW = 10_000
const LATER = 20_000
const iso = (ms: number) => new Date(ms).toISOString()

let store: Store
beforeEach(async () => {
  store = openTestStore()
  await create('app_1')
})
afterEach(() => store.close())

const create = (id: string, accountId = 'acc', now = NOW) =>
  store.write(() => apps.create(accountId, id, { name: id }, now))
const newBot = (id: string, accountId = 'acc') =>
  store.write(() => bots.apply(accountId, id, { name: id, username: `${id}_bot` }, NOW, true))
const link = (appId: string, botId: string, now = NOW) => store.write(() => apps.linkBot('acc', appId, botId, now))
const update = (settings: Parameters<typeof apps.update>[2]) =>
  store.write(() => apps.update('acc', 'app_1', settings, LATER))
const operatorChange = (change: Parameters<typeof apps.updateByOperator>[1]) =>
  store.write(() => apps.updateByOperator('app_1', change, LATER))
const get = async (id = 'app_1'): Promise<Application> => {
  const application = await store.read(() => apps.get('acc', id))
  if ('ok' in application) throw new Error(application.code)
  return application
}
const codeOf = (result: Application | Refusal) => ('ok' in result ? result.code : 'fine')

const fullSettings: Required<ApplicationSettings> = {
  name: 'Shop',
  description: 'at the corner',
  status: 'disabled',
  allowed_origins: ['https://shop.example'],
  secure_transport: 'required',
}

describe('settings of an application', () => {
  it('update changes each setting that it names and the time of the change', { tags: 'applications/1' }, async () => {
    const before = await get()
    const changed = {
      ...before,
      name: 'Shop',
      description: 'at the corner',
      status: 'disabled',
      allowedOrigins: ['https://shop.example'],
      secureTransport: 'required',
      updatedAt: iso(LATER),
    }
    expect(await update(fullSettings)).toEqual(changed)
    expect(await get()).toEqual(changed)
  })

  it('update keeps each setting that it does not name', { tags: 'applications/1' }, async () => {
    await update(fullSettings)
    const before = await get()
    expect(await update({})).toEqual(before)
    expect(await get()).toEqual(before)
  })

  it('operator changes suspension and features independently, for any account', async () => {
    const before = await get()
    const suspended = { ...before, status: 'suspended', updatedAt: iso(LATER) }
    expect(await operatorChange({ suspended: true })).toEqual(suspended)
    expect(await operatorChange({ features: [] })).toEqual({ ...suspended, features: [] })
    expect(await get()).toEqual({ ...suspended, features: [] })
    expect(await operatorChange({ suspended: false })).toEqual({ ...before, features: [], updatedAt: iso(LATER) })
  })

  it('unknown and foreign applications are not found', { tags: 'credential-kinds/1' }, async () => {
    await newBot('bot_1')
    for (const [accountId, appId] of [
      ['acc', 'app_2'],
      ['other', 'app_1'],
    ] as const) {
      const results = [
        await store.read(() => apps.get(accountId, appId)),
        await store.write(() => apps.update(accountId, appId, { name: 'x' }, LATER)),
        await store.write(() => apps.linkBot(accountId, appId, 'bot_1', LATER)),
        await store.write(() => apps.unlinkBot(accountId, appId, 'bot_1', LATER)),
      ]
      expect(results.map(codeOf)).toEqual(Array(4).fill('APPLICATION_NOT_FOUND'))
    }
    expect(await store.write(() => apps.updateByOperator('app_2', {}, LATER))).toMatchObject({
      code: 'APPLICATION_NOT_FOUND',
    })
    expect(await get()).toMatchObject({ name: 'app_1', linkedBots: [], updatedAt: iso(NOW) })
  })

  it('application creation is refused at the limit of its own account', { tags: 'applications/2' }, async () => {
    await create('app_other', 'other')
    const limited = (id: string) => store.write(() => apps.create('acc', id, { name: id }, NOW, 2))
    expect(await limited('app_2')).toEqual(await get('app_2'))
    expect(await limited('app_3')).toMatchObject({ code: 'APPLICATION_LIMIT_REACHED', details: { limit: 2 } })
  })
})

describe('lists of applications', () => {
  it('list has the applications of one account, newest first', { tags: 'credential-kinds/1' }, async () => {
    await create('app_2', 'acc', LATER)
    await create('app_other', 'other')
    for (const id of ['bot_1', 'bot_2', 'bot_3', 'bot_unlinked']) await newBot(id)
    await link('app_1', 'bot_1', LATER)
    await link('app_1', 'bot_2', NOW)
    await link('app_2', 'bot_3')
    const { items } = await store.read(() => apps.list('acc', {}))
    expect(items).toEqual([await get('app_2'), await get('app_1')])
    expect(items.map(({ linkedBots }) => linkedBots.map(({ botId }) => botId))).toEqual([['bot_3'], ['bot_2', 'bot_1']])
    expect((await store.read(() => apps.list('acc', { page: 2, limit: 1 }))).items).toEqual([await get('app_1')])
  })

  it('list of the operator has the applications of all accounts with their bots and pages', async () => {
    await create('app_other', 'other', LATER)
    await newBot('bot_1')
    await link('app_1', 'bot_1')
    const { items, pagination } = await store.read(() => apps.listAll({}))
    expect(unusedParameters(await stepsOf(store, () => apps.listAll({ limit: 0 })))).toEqual([])
    expect(items.map(({ id, linkedBots }) => [id, linkedBots.length])).toEqual([
      ['app_other', 0],
      ['app_1', 1],
    ])
    expect(pagination).toEqual({ page: 1, limit: 20, total: 2, pages: 1 })
  })
})

describe('links of bots', () => {
  it('bots that were linked at the same time are listed by id', async () => {
    for (const id of ['bot_2', 'bot_1']) {
      await newBot(id)
      await link('app_1', id)
    }
    const linkedBots = ['bot_1', 'bot_2'].map((botId) => ({ botId, username: `${botId}_bot`, linkedAt: iso(NOW) }))
    expect((await get()).linkedBots).toEqual(linkedBots)
  })

  it('link and unlink change times; the bot can then be linked again', { tags: 'applications/4' }, async () => {
    await newBot('bot_1')
    await create('app_2')
    const linked = await link('app_1', 'bot_1', LATER)
    expect(linked).toMatchObject({ linkedBots: [{ botId: 'bot_1', linkedAt: iso(LATER) }], updatedAt: iso(LATER) })
    expect(await store.read(() => bots.get('acc', 'bot_1'))).toMatchObject({
      application_id: 'app_1',
      updated_at: iso(LATER),
    })
    expect(await link('app_2', 'bot_1')).toMatchObject({
      code: 'BOT_ALREADY_LINKED',
      details: { application_id: 'app_1' },
    })
    const unlinked = await store.write(() => apps.unlinkBot('acc', 'app_1', 'bot_1', LATER + 1))
    expect(unlinked).toMatchObject({ linkedBots: [], updatedAt: iso(LATER + 1) })
    expect(await store.read(() => all('select application_id, linked_at from bots'))).toEqual([
      { application_id: null, linked_at: null },
    ])
    expect(await link('app_2', 'bot_1', LATER + 2)).toMatchObject({ linkedBots: [{ linkedAt: iso(LATER + 2) }] })
  })

  it('repeated link, or unlink of a bot linked elsewhere, changes nothing', { tags: 'applications/4' }, async () => {
    await newBot('bot_1')
    await create('app_2')
    await link('app_1', 'bot_1')
    const before = [await get('app_1'), await get('app_2')]
    expect(await link('app_1', 'bot_1', LATER)).toEqual(before[0])
    expect(await store.write(() => apps.unlinkBot('acc', 'app_2', 'bot_1', LATER))).toEqual(before[1])
    expect([await get('app_1'), await get('app_2')]).toEqual(before)
  })

  it('bot of another account or without approval cannot be linked', {
    tags: ['applications/1', 'bot-issue/1'],
  }, async () => {
    await newBot('bot_other', 'other')
    await store.write(() => bots.apply('acc', 'bot_new', { name: 'New', username: 'new_bot' }, NOW, false))
    expect(await link('app_1', 'bot_other')).toMatchObject({ code: 'BOT_NOT_FOUND' })
    expect(await link('app_1', 'bot_new')).toMatchObject({ code: 'BOT_NOT_APPROVED' })
    expect(await store.write(() => apps.unlinkBot('acc', 'app_1', 'bot_other', LATER))).toMatchObject({
      code: 'BOT_NOT_FOUND',
    })
    expect((await get()).linkedBots).toEqual([])
  })
})

describe('locks of application operations', () => {
  it('changes of an application lock its row, and links also the bot', async () => {
    await newBot('bot_1')
    const locked = (op: Parameters<typeof locksOf>[1]) => locksOf(store, op)
    expect(await locked(() => apps.update('acc', 'app_1', {}, LATER))).toEqual(['row applications'])
    expect(await locked(() => apps.updateByOperator('app_1', {}, LATER))).toEqual(['row applications'])
    const both = ['row applications', 'row bots']
    expect(await locked(() => apps.linkBot('acc', 'app_1', 'bot_1', LATER))).toEqual(both)
    expect(await locked(() => apps.unlinkBot('acc', 'app_1', 'bot_1', LATER))).toEqual(both)
  })

  it('creation locks the number of applications of the account before it counts them', async () => {
    const [first] = await stepsOf(store, () => apps.create('acc', 'app_2', { name: 'Shop' }, NOW))
    expect(first).toEqual({ kind: 'lock', subject: 'applications of acc' })
  })
})
