import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { TemplateRow } from '../../src/domain/template.js'
import * as apps from '../../src/store/apps.js'
import type { Store } from '../../src/store/store.js'
import * as templates from '../../src/store/templates.js'
import { openTestStore } from '../support/store/engines.js'
import { templateRow } from '../support/store/rows.js'
import { locksOf, stepsOf, unusedParameters } from '../support/store/store-steps.js'

const NOW = 10_000
const LATER = 20_000
const iso = (ms: number) => new Date(ms).toISOString()
const application = { applicationId: 'app_1' }
const bot = { botId: 'bot_1' }
const rejected = { approve: false, code: 'UNCLEAR', reason: 'What is it?' } as const

let store: Store
beforeEach(() => {
  store = openTestStore()
})
afterEach(() => store.close())

/** Creates a draft whose external id is its id. */
const draft = (id: string, overrides: Partial<TemplateRow> = {}) =>
  store.write(() => templates.create(templateRow({ id, external_template_id: id, status: 'draft', ...overrides })))
const ofBot = { application_id: '', bot_id: 'bot_1' }
const submit = (owner: templates.TemplateOwner, id: string, now = NOW, autoApprove = false) =>
  store.write(() => templates.submit(owner, id, now, autoApprove))
const review = (id: string, decision: Parameters<typeof templates.review>[1], now = LATER) =>
  store.write(() => templates.review(id, decision, now))
const move = (now = LATER) => store.write(() => templates.moveToApplication('bot_1', 'app_1', now))
const listed = async (owner: templates.TemplateOwner, filter: templates.TemplateFilter = {}) =>
  (await store.read(() => templates.list(owner, filter))).items
const idsOf = async (owner: templates.TemplateOwner, filter: templates.TemplateFilter = {}) =>
  (await listed(owner, filter)).map(({ id }) => id)

describe('lists of templates', () => {
  it('list of an owner has no template of another owner or application', { tags: 'bot-side-templates/3' }, async () => {
    await draft('tpl_1', { bot_id: 'bot_1' })
    await draft('tpl_2', { application_id: 'app_2' })
    await draft('tpl_3', ofBot)
    await draft('tpl_4', { ...ofBot, bot_id: 'bot_2' })
    expect(await idsOf(application)).toEqual(['tpl_1'])
    expect(await idsOf(bot)).toEqual(['tpl_3'])
    expect(await idsOf({ applicationId: '' })).toEqual([])
  })

  it('list filters by status and external id, together and alone', async () => {
    await draft('tpl_1')
    await draft('tpl_2')
    await submit(application, 'tpl_2')
    expect(await idsOf(application, { status: 'draft' })).toEqual(['tpl_1'])
    expect(await idsOf(application, { external_template_id: 'tpl_2' })).toEqual(['tpl_2'])
    expect(await idsOf(application, { status: 'reviewing', external_template_id: 'tpl_2' })).toEqual(['tpl_2'])
    expect(await idsOf(application, { status: 'draft', external_template_id: 'tpl_2' })).toEqual([])
  })

  it('operator lists templates of all owners with application names', async () => {
    await store.write(() => apps.create('acc', 'app_1', { name: 'Shop' }, NOW))
    await store.write(() => apps.create('acc', 'app_2', { name: 'Cafe' }, NOW))
    await draft('tpl_1')
    await draft('tpl_2', { application_id: 'app_2' })
    await draft('tpl_3', { application_id: 'app_2' })
    await draft('tpl_4', ofBot)
    await submit(application, 'tpl_1')
    const all = async (filter: Parameters<typeof templates.listAll>[0]) =>
      (await store.read(() => templates.listAll(filter))).items.map((it) => [it.id, it.applicationName])
    const ofCafe = [
      ['tpl_3', 'Cafe'],
      ['tpl_2', 'Cafe'],
    ]
    expect(await all({})).toEqual([['tpl_4', null], ...ofCafe, ['tpl_1', 'Shop']])
    expect(await all({ status: 'reviewing' })).toEqual([['tpl_1', 'Shop']])
    expect(await all({ application_id: 'app_2' })).toEqual(ofCafe)
    expect(await all({ application_id: 'app_2', status: 'reviewing' })).toEqual([])
    const { items, pagination } = await store.read(() => templates.listAll({ page: 2, limit: 3 }))
    expect([items.length, pagination]).toEqual([1, { page: 2, limit: 3, total: 4, pages: 2 }])
    expect(items[0]).toEqual({ ...(await listed(application))[0], applicationName: 'Shop' })
  })
})

describe('external id of a template', () => {
  it('creation refuses the external id of another template of its owner only', { tags: 'templates/3' }, async () => {
    const external_template_id = 'coffee'
    await draft('tpl_1', { external_template_id })
    const refused = (id: string) => ({ code: 'EXTERNAL_TEMPLATE_ID_EXISTS', details: { template_id: id } })
    expect(await draft('tpl_2', { external_template_id })).toMatchObject(refused('tpl_1'))
    expect(await draft('tpl_3', { external_template_id, ...ofBot })).toMatchObject({ id: 'tpl_3' })
    expect(await draft('tpl_4', { external_template_id, ...ofBot })).toMatchObject(refused('tpl_3'))
    expect(await draft('tpl_5', { external_template_id, application_id: 'app_2' })).toMatchObject({ id: 'tpl_5' })
  })

  it('rejected template leaves its external id, and is then not submitted again', { tags: 'templates/3' }, async () => {
    await draft('tpl_1', { external_template_id: 'coffee' })
    await submit(application, 'tpl_1')
    await review('tpl_1', rejected)
    expect(await draft('tpl_2', { external_template_id: 'coffee' })).toMatchObject({ id: 'tpl_2' })
    const refused = { code: 'EXTERNAL_TEMPLATE_ID_EXISTS', details: { template_id: 'tpl_2' } }
    expect(await submit(application, 'tpl_1')).toMatchObject(refused)
    expect(await submit(application, 'tpl_2')).toMatchObject({ status: 'reviewing' })
  })
})

describe('review of a template', () => {
  it('template is found by its id and its owner only', async () => {
    await draft('tpl_1')
    await draft('tpl_2', ofBot)
    const found = async (owner: templates.TemplateOwner, id: string) => 'status' in (await submit(owner, id))
    expect(await found({ applicationId: 'app_2' }, 'tpl_1')).toBe(false)
    expect(await found(bot, 'tpl_1')).toBe(false)
    expect(await found(application, 'tpl_2')).toBe(false)
    expect(await found(application, 'tpl_3')).toBe(false)
    expect(await found(application, 'tpl_1')).toBe(true)
    expect(await found(bot, 'tpl_2')).toBe(true)
    const notFound = { code: 'TEMPLATE_NOT_FOUND' }
    expect(await submit(application, 'tpl_3')).toMatchObject(notFound)
    expect(await review('tpl_3', rejected)).toMatchObject(notFound)
  })

  it('submission, rejection and approval store their times, and the rejection its reason', async () => {
    await draft('tpl_1')
    const stored = async () => (await listed(application))[0]
    const submitted = await submit(application, 'tpl_1')
    expect(submitted).toMatchObject({ status: 'reviewing', submittedAt: iso(NOW), updatedAt: iso(NOW) })
    expect(await stored()).toEqual(submitted)
    const refused = await review('tpl_1', rejected)
    const reason = { rejectionCode: 'UNCLEAR', rejectionReason: 'What is it?' }
    expect(refused).toMatchObject({ status: 'rejected', ...reason, reviewedAt: iso(LATER), updatedAt: iso(LATER) })
    expect(await stored()).toEqual(refused)
    await submit(application, 'tpl_1')
    const active = await review('tpl_1', { approve: true })
    expect(active).toMatchObject({ status: 'active', rejectionCode: null, rejectionReason: null })
    expect(await stored()).toEqual(active)
  })

  it('decision on a template that is not under review, and its second submission, change nothing', async () => {
    const created = await draft('tpl_1')
    const conflict = (status: string) => ({ code: 'TEMPLATE_STATE_CONFLICT', details: { status } })
    expect(await review('tpl_1', { approve: true })).toMatchObject(conflict('draft'))
    expect(await listed(application)).toEqual([created])
    const submitted = await submit(application, 'tpl_1')
    expect(await submit(application, 'tpl_1', LATER)).toMatchObject(conflict('reviewing'))
    expect(await listed(application)).toEqual([submitted])
  })

  it('submission with automatic approval returns reviewing and stores active', async () => {
    await draft('tpl_1')
    expect(await submit(application, 'tpl_1', NOW, true)).toMatchObject({ status: 'reviewing', reviewedAt: null })
    expect(await listed(application)).toMatchObject([{ status: 'active', reviewedAt: iso(NOW) }])
  })

  it('pending reviews cover all owners, oldest first, then by id', async () => {
    await draft('tpl_3')
    await draft('tpl_2', ofBot)
    await draft('tpl_1')
    await draft('tpl_4')
    await submit(application, 'tpl_3', LATER)
    await submit(bot, 'tpl_2', LATER)
    await submit(application, 'tpl_1', LATER + 1)
    const reviewed = { kind: 'template', account_id: 'acc', name: 'One free coffee', submitted_at: iso(LATER) }
    expect(await store.read(templates.pendingReviews)).toEqual([
      { ...reviewed, id: 'tpl_2', application_id: null },
      { ...reviewed, id: 'tpl_3', application_id: 'app_1' },
      { ...reviewed, id: 'tpl_1', application_id: 'app_1', submitted_at: iso(LATER + 1) },
    ])
  })
})

describe('templates of a linked bot', () => {
  it('move takes the templates of the bot and changes their time', { tags: 'bot-side-templates/2' }, async () => {
    await draft('tpl_1', ofBot)
    await draft('tpl_2', { ...ofBot, bot_id: 'bot_2' })
    await move()
    expect(await listed(application)).toMatchObject([{ id: 'tpl_1', botId: 'bot_1', updatedAt: iso(LATER) }])
    expect(await idsOf({ botId: 'bot_2' })).toEqual(['tpl_2'])
  })

  it('move leaves a template whose external id the application uses, unless either is rejected', {
    tags: 'bot-side-templates/2',
  }, async () => {
    const names = ['used', 'rejected at the bot', 'rejected in the application']
    for (const [index, external_template_id] of names.entries()) {
      await draft(`tpl_app_${index}`, { external_template_id })
      await draft(`tpl_bot_${index}`, { external_template_id, ...ofBot })
    }
    await submit(bot, 'tpl_bot_1')
    await submit(application, 'tpl_app_2')
    for (const id of ['tpl_bot_1', 'tpl_app_2']) await review(id, rejected)
    await move()
    expect(await idsOf(bot)).toEqual(['tpl_bot_0'])
    expect(await idsOf(application)).toHaveLength(5)
  })
})

it('list of all templates has no unused SQL parameter, which PostgreSQL refuses', async () => {
  expect(unusedParameters(await stepsOf(store, () => templates.listAll({ status: 'draft' })))).toEqual([])
})

it('submission and review lock the template', async () => {
  await draft('tpl_1')
  expect(await locksOf(store, () => templates.submit(application, 'tpl_1', NOW, false))).toEqual(['row templates'])
  expect(await locksOf(store, () => templates.review('tpl_1', rejected, NOW))).toEqual(['row templates'])
})
