import type { Application } from '../../../contract/apps.js'
import type { Endpoint } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { approvedBot, listedBot, pendingBot, userBot } from '../../bot-fixtures.js'
import { application, credentialOf, templateInput } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Caller, ProbeContext } from '../../probe-context.js'
import { applicationVoucher, fullToken, unknownCredential, unknownIssue } from './shared.js'

const probe = probesOf('applications', {
  needs: ['jwt'],
  specified: ['listed-and-read', 'unlink-keeps', 'unlink-keeps-vouchers'],
  partly: ['patched', 'disabled', 'disabled-replay'],
})
/** Longer than the platform needs to store another time. */
const CLOCK_STEP_MS = 20
const { apps, templates, vouchers } = contract

/** Every runtime call, with objects that do not exist. */
const runtimeCalls: readonly (readonly [Endpoint, (it: ProbeContext) => Readonly<Record<string, unknown>>])[] = [
  [templates.list, () => ({})],
  [templates.create, (it) => templateInput(it)],
  [templates.submit, () => ({ templateId: 'tpl_conform' })],
  [vouchers.issue, () => unknownIssue],
  [vouchers.verify, () => ({ credential: unknownCredential })],
  [vouchers.redeem, () => ({ credential: unknownCredential })],
  [vouchers.redemption, () => ({ redemptionId: 'rdm_conform' })],
  [vouchers.reverse, () => ({ redemptionId: 'rdm_conform' })],
]

/** Runs calls while the run's application is disabled, and enables it again. */
async function whileDisabled<T>(it: ProbeContext, run: (as: Caller) => Promise<T>): Promise<T> {
  const { id: appId } = await application(it)
  const { token } = await fullToken(it)
  const as = { credential: token }
  it.needs(await it.call(templates.list, {}, { as }), 'an application that may call')
  const disabled = it.needs(await it.call(apps.update, { appId, status: 'disabled' }), 'a disabled application')
  if (disabled.status !== 'disabled') it.notApplicable('Needs a disabled application.')
  try {
    return await run(as)
  } finally {
    await it.call(apps.update, { appId, status: 'active' })
  }
}

/** The run's application as the platform has it now. */
async function current(it: ProbeContext): Promise<Application> {
  const { id: appId } = await application(it)
  return it.needs(await it.call(apps.get, { appId }), 'an application')
}

/** The run's application with its bot linked, and what the calls for the link returned. */
function linked(it: ProbeContext) {
  return it.resources.once('linked bot', async () => {
    const { id: appId } = await application(it)
    const { id: botId } = await approvedBot(it)
    const first = it.needs(await it.call(apps.linkBot, { appId, botId }), 'a linked bot')
    return { appId, botId, first }
  })
}

interface Link {
  readonly appId: string
  readonly botId: string
}

/** Unlinks a bot for some calls, and links it again. */
async function whileUnlinked(it: ProbeContext, run: (link: Link) => Promise<void>): Promise<void> {
  const { appId, botId } = await linked(it)
  it.needs(await it.call(apps.unlinkBot, { appId, botId }), 'an unlinked bot')
  try {
    await run({ appId, botId })
  } finally {
    await it.call(apps.linkBot, { appId, botId })
  }
}

/** When the application and the bot of a link changed last. */
async function timesOf(it: ProbeContext, botId: string): Promise<string[]> {
  return [(await current(it)).updatedAt, (await listedBot(it, botId)).updated_at]
}

const isList = (value: unknown) => Array.isArray(value)
const isText = (value: unknown) => typeof value === 'string'

export const applications = [
  probe('record', 'The record of an application has its ten members.', async (it) => {
    const { id, name, description, status, features, allowedOrigins, secureTransport, linkedBots, ...times } =
      await application(it)
    const texts = [id, name, times.createdAt, times.updatedAt]
    it.holds(texts.every(isText), 'texts in id, name, createdAt, updatedAt', texts)
    it.holds(description === null || isText(description), 'a text or null in description', description)
    it.holds(['active', 'disabled', 'suspended'].includes(status), 'active, disabled or suspended in status', status)
    const lists = [features, allowedOrigins, linkedBots]
    it.holds(lists.every(isList), 'lists in features, allowedOrigins, linkedBots', lists)
    it.holds(
      ['optional', 'required'].includes(secureTransport),
      'optional or required in secureTransport',
      secureTransport,
    )
  }),
  probe('allowed-origins', 'An application allows every origin (*) by default.', async (it) => {
    it.equals('allowedOrigins', (await application(it)).allowedOrigins, ['*'])
  }),
  probe('listed-and-read', 'The owner lists and reads an application.', async (it) => {
    const { id } = await application(it)
    const { items } = it.accepts(await it.call(apps.list, { limit: 100 }))
    it.holds(
      items.some((item) => item.id === id),
      'the new application in the list',
      'none',
    )
    it.equals('id', it.accepts(await it.call(apps.get, { appId: id })).id, id)
  }),
  probe('patched', 'A PATCH changes members of an application.', async (it) => {
    const { id: appId } = await application(it)
    const description = it.resources.name()
    it.equals('description', it.accepts(await it.call(apps.update, { appId, description })).description, description)
    it.equals('description', (await current(it)).description, description)
  }),
  probe('enabled-again', 'An application that was disabled may call again once it is active.', async (it) => {
    const as = await whileDisabled(it, async (caller) => caller)
    it.accepts(await it.call(templates.list, {}, { as }))
  }),
  probe('owner-disables', 'The owner sets the status disabled, and active again.', async (it) => {
    const { id: appId } = await application(it)
    for (const status of ['disabled', 'active'] as const) {
      it.equals('status', it.accepts(await it.call(apps.update, { appId, status })).status, status)
    }
  }),
  probe('owner-cannot-suspend', 'The owner cannot set the status suspended: 400.', async (it) => {
    const { id: appId } = await application(it)
    it.refuses(await it.call(apps.update, { appId, status: 'suspended' }), 400)
  }),
  probe('disabled', 'Every runtime call of a disabled application is 403 APPLICATION_DISABLED.', async (it) => {
    await whileDisabled(it, async (as) => {
      for (const [endpoint, input] of runtimeCalls) {
        it.refuses(await it.call(endpoint, input(it), { as }), 403, 'APPLICATION_DISABLED')
      }
    })
  }),
  probe('disabled-replay', 'A disabled application gets 403 instead of a replay.', { vouchers: 1 }, async (it) => {
    const { as, input, key } = await applicationVoucher(it)
    it.needs(await it.call(vouchers.issue, input, { as, key }), 'a replay')
    await whileDisabled(it, async () =>
      it.refuses(await it.call(vouchers.issue, input, { as, key }), 403, 'APPLICATION_DISABLED'),
    )
  }),
  probe('link-of-a-pending-bot', 'A bot that is not approved cannot be linked: 409.', async (it) => {
    const { id: appId } = await application(it)
    const { id: botId } = await pendingBot(it)
    it.refuses(await it.call(apps.linkBot, { appId, botId }), 409)
  }),
  probe('link-of-an-unknown-bot', 'A bot that the account does not have cannot be linked: 404.', async (it) => {
    const { id: appId } = await application(it)
    it.refuses(await it.call(apps.linkBot, { appId, botId: 'bot_conform' }), 404)
  }),
  probe(
    'link-elsewhere',
    'A bot of another application cannot be linked: 409 BOT_ALREADY_LINKED.',
    { needs: ['jwt', 'bot id'] },
    async (it) => {
      const { id: botId, application_id: owner } = await userBot(it)
      // Without the application to which it is linked, the link could not be put back.
      if (typeof owner !== 'string') return it.notApplicable('Needs a bot with application_id, which is linked.')
      const { id: appId } = await application(it)
      const response = await it.call(apps.linkBot, { appId, botId })
      if (response.isSuccess) {
        await it.call(apps.unlinkBot, { appId, botId })
        await it.call(apps.linkBot, { appId: owner, botId })
      }
      it.refuses(response, 409, 'BOT_ALREADY_LINKED')
    },
  ),
  probe('linked-bots', 'The record of an application lists a linked bot.', async (it) => {
    const { botId, first } = await linked(it)
    const { username } = await listedBot(it, botId)
    const found = first.linkedBots.find((bot) => bot.botId === botId)
    it.equals('botId and username', [found?.botId, found?.username], [botId, username])
    it.equals('application_id of the bot', (await listedBot(it, botId)).application_id, first.id)
  }),
  probe('link-twice', 'Linking a bot twice changes nothing the second time.', async (it) => {
    const { appId, botId } = await linked(it)
    const before = await timesOf(it, botId)
    it.accepts(await it.call(apps.linkBot, { appId, botId }))
    it.equals('updatedAt and updated_at', await timesOf(it, botId), before)
  }),
  probe('link-changes', 'A new link sets updatedAt of the application and updated_at of the bot.', async (it) => {
    const { appId, botId } = await linked(it)
    it.needs(await it.call(apps.unlinkBot, { appId, botId }), 'an unlinked bot')
    const [application = '', bot = ''] = await timesOf(it, botId)
    await it.resources.pause(CLOCK_STEP_MS)
    it.accepts(await it.call(apps.linkBot, { appId, botId }))
    const [applicationAfter = '', botAfter = ''] = await timesOf(it, botId)
    it.holds(applicationAfter > application, `updatedAt after ${application}`, applicationAfter)
    it.holds(botAfter > bot, `updated_at after ${bot}`, botAfter)
  }),
  probe('unlink-twice', 'Unlinking a bot twice changes nothing the second time.', async (it) => {
    await whileUnlinked(it, async ({ appId, botId }) => {
      const before = await timesOf(it, botId)
      it.accepts(await it.call(apps.unlinkBot, { appId, botId }))
      it.equals('updatedAt and updated_at', await timesOf(it, botId), before)
    })
  }),
  probe('unlinked-bot', 'The record of an application does not list a bot that was unlinked.', async (it) => {
    await whileUnlinked(it, async () => it.equals('linkedBots', (await current(it)).linkedBots, []))
  }),
  probe('unlink-keeps', 'Unlinking a bot keeps the application, its templates and its tokens.', async (it) => {
    const { token } = await fullToken(it)
    const as = { credential: token }
    const before = it.needs(await it.call(templates.list, {}, { as }), 'an application that may call')
    await whileUnlinked(it, async () => {
      const after = it.accepts(await it.call(templates.list, {}, { as }))
      it.equals('number of templates', after.pagination.total, before.pagination.total)
      it.equals('status of the application', (await current(it)).status, 'active')
    })
  }),
  probe(
    'unlink-keeps-vouchers',
    'Unlinking a bot keeps the vouchers of the application.',
    { vouchers: 1 },
    async (it) => {
      const { as, issued } = await applicationVoucher(it)
      const input = { credential: credentialOf(it, issued) }
      it.needs(await it.call(vouchers.verify, input, { as }), 'a voucher')
      await whileUnlinked(it, async () => {
        it.accepts(await it.call(vouchers.verify, input, { as }))
      })
    },
  ),
]
