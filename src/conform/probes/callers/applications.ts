import type { Application } from '../../../contract/apps.js'
import type { Endpoint } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import { approvedBot, listedBot, pendingBot, userBot } from '../../bot-fixtures.js'
import { application, CLOCK_STEP_MS, credentialOf, templateInput } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Caller, ProbeContext } from '../../probe-context.js'
import { applicationVoucher, fullToken, unknownCredential, unknownIssue } from './shared.js'

const probe = probesOf('applications', { kind: 'credential', needs: ['jwt'] })
const issuing = probe.with({ vouchers: 1 })
const { apps, templates, vouchers } = contract

/** All runtime calls, with ids of objects that do not exist. */
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
async function whileDisabled<T>(context: ProbeContext, run: (as: Caller) => Promise<T>): Promise<T> {
  const { id: appId } = await application(context)
  const { token } = await fullToken(context)
  const as = { credential: token }
  context.needs(await context.call(templates.list, {}, { as }), 'an application that may call')
  const disabled = context.needs(
    await context.call(apps.update, { appId, status: 'disabled' }),
    'a disabled application',
  )
  if (disabled.status !== 'disabled') context.notApplicable('Needs a disabled application.')
  try {
    return await run(as)
  } finally {
    await context.call(apps.update, { appId, status: 'active' })
  }
}

async function current(run: ProbeContext): Promise<Application> {
  const { id: appId } = await application(run)
  return run.needs(await run.call(apps.get, { appId }), 'an application')
}

function linked(run: ProbeContext) {
  return run.resources.once('linked bot', async () => {
    const { id: appId } = await application(run)
    const { id: botId } = await approvedBot(run)
    const first = run.needs(await run.call(apps.linkBot, { appId, botId }), 'a linked bot')
    return { appId, botId, first }
  })
}

interface Link {
  readonly appId: string
  readonly botId: string
}

/** Unlinks a bot for some calls, and links it again. */
async function whileUnlinked(context: ProbeContext, run: (link: Link) => Promise<void>): Promise<void> {
  const { appId, botId } = await linked(context)
  context.needs(await context.call(apps.unlinkBot, { appId, botId }), 'an unlinked bot')
  try {
    await run({ appId, botId })
  } finally {
    await context.call(apps.linkBot, { appId, botId })
  }
}

/** Returns when the application and the bot of a link last changed. */
async function timesOf(run: ProbeContext, botId: string): Promise<string[]> {
  return [(await current(run)).updatedAt, (await listedBot(run, botId)).updated_at]
}

const isList = (value: unknown) => Array.isArray(value)
const isText = (value: unknown) => typeof value === 'string'

export const applications = [
  probe(2, 'record', 'The record of an application has its ten members.', async (run) => {
    const { id, name, description, status, features, allowedOrigins, secureTransport, linkedBots, ...times } =
      await application(run)
    const texts = [id, name, times.createdAt, times.updatedAt]
    run.holds(texts.every(isText), 'texts in id, name, createdAt, updatedAt', texts)
    run.holds(description === null || isText(description), 'a text or null in description', description)
    run.holds(['active', 'disabled', 'suspended'].includes(status), 'active, disabled or suspended in status', status)
    const lists = [features, allowedOrigins, linkedBots]
    run.holds(lists.every(isList), 'lists in features, allowedOrigins, linkedBots', lists)
    const isMode = ['optional', 'required'].includes(secureTransport)
    run.holds(isMode, 'optional or required in secureTransport', secureTransport)
  }),
  probe(2, 'allowed-origins', 'An application allows every origin (*) by default.', async (run) => {
    run.equals('allowedOrigins', (await application(run)).allowedOrigins, ['*'])
  }),
  probe.specified(1, 'listed-and-read', 'The owner lists and reads an application.', async (run) => {
    const { id } = await application(run)
    const { items } = run.accepts(await run.call(apps.list, { limit: 100 }))
    const isListed = items.some((item) => item.id === id)
    run.holds(isListed, 'the new application in the list', 'none')
    run.equals('id', run.accepts(await run.call(apps.get, { appId: id })).id, id)
  }),
  probe.partly(1, 'patched', 'A PATCH changes members of an application.', async (run) => {
    const { id: appId } = await application(run)
    const description = run.resources.name()
    run.equals('description', run.accepts(await run.call(apps.update, { appId, description })).description, description)
    run.equals('description', (await current(run)).description, description)
  }),
  probe(3, 'enabled-again', 'An application that was disabled may call again once it is active.', async (run) => {
    const as = await whileDisabled(run, async (caller) => caller)
    run.accepts(await run.call(templates.list, {}, { as }))
  }),
  probe(2, 'owner-disables', 'The owner sets the status disabled, and active again.', async (run) => {
    const { id: appId } = await application(run)
    for (const status of ['disabled', 'active'] as const) {
      run.equals('status', run.accepts(await run.call(apps.update, { appId, status })).status, status)
    }
  }),
  probe(2, 'owner-cannot-suspend', 'The owner cannot set the status suspended: 400.', async (run) => {
    const { id: appId } = await application(run)
    run.refuses(await run.call(apps.update, { appId, status: 'suspended' }), 400)
  }),
  probe.partly(3, 'disabled', 'A runtime call of a disabled application is 403 APPLICATION_DISABLED.', async (run) => {
    await whileDisabled(run, async (as) => {
      for (const [endpoint, input] of runtimeCalls) {
        run.refuses(await run.call(endpoint, input(run), { as }), 403, 'APPLICATION_DISABLED')
      }
    })
  }),
  issuing.partly(3, 'disabled-replay', 'A disabled application gets 403 instead of a replay.', async (run) => {
    const { as, input, key } = await applicationVoucher(run)
    run.needs(await run.call(vouchers.issue, input, { as, key }), 'a replay')
    await whileDisabled(run, async () =>
      run.refuses(await run.call(vouchers.issue, input, { as, key }), 403, 'APPLICATION_DISABLED'),
    )
  }),
  probe(1, 'link-of-a-pending-bot', 'A bot that is not approved cannot be linked: 409.', async (run) => {
    const { id: appId } = await application(run)
    const { id: botId } = await pendingBot(run)
    run.refuses(await run.call(apps.linkBot, { appId, botId }), 409)
  }),
  probe(1, 'link-of-an-unknown-bot', 'A bot that the account does not have cannot be linked: 404.', async (run) => {
    const { id: appId } = await application(run)
    run.refuses(await run.call(apps.linkBot, { appId, botId: 'bot_conform' }), 404)
  }),
  probe.with({ needs: ['jwt', 'bot id'], kind: 'tenant' })(
    4,
    'link-elsewhere',
    'A bot of another application cannot be linked: 409 BOT_ALREADY_LINKED.',
    async (run) => {
      const { id: botId, application_id: owner } = await userBot(run)
      // Without the id of the linked application, the link could not be restored.
      if (typeof owner !== 'string') return run.notApplicable('Needs a bot with application_id, which is linked.')
      const { id: appId } = await application(run)
      const response = await run.call(apps.linkBot, { appId, botId })
      if (response.isSuccess) {
        await run.call(apps.unlinkBot, { appId, botId })
        await run.call(apps.linkBot, { appId: owner, botId })
      }
      run.refuses(response, 409, 'BOT_ALREADY_LINKED')
    },
  ),
  probe(4, 'linked-bots', 'The record of an application lists a linked bot.', async (run) => {
    const { botId, first } = await linked(run)
    const { username } = await listedBot(run, botId)
    const found = first.linkedBots.find((bot) => bot.botId === botId)
    run.equals('botId and username', [found?.botId, found?.username], [botId, username])
    run.equals('application_id of the bot', (await listedBot(run, botId)).application_id, first.id)
  }),
  probe(4, 'link-twice', 'Linking a bot twice changes nothing the second time.', async (run) => {
    const { appId, botId } = await linked(run)
    const before = await timesOf(run, botId)
    run.accepts(await run.call(apps.linkBot, { appId, botId }))
    run.equals('updatedAt and updated_at', await timesOf(run, botId), before)
  }),
  probe(4, 'link-changes', 'A new link sets updatedAt of the application and updated_at of the bot.', async (run) => {
    const { appId, botId } = await linked(run)
    run.needs(await run.call(apps.unlinkBot, { appId, botId }), 'an unlinked bot')
    const [application = '', bot = ''] = await timesOf(run, botId)
    await run.resources.pause(CLOCK_STEP_MS)
    run.accepts(await run.call(apps.linkBot, { appId, botId }))
    const [applicationAfter = '', botAfter = ''] = await timesOf(run, botId)
    run.holds(applicationAfter > application, `updatedAt after ${application}`, applicationAfter)
    run.holds(botAfter > bot, `updated_at after ${bot}`, botAfter)
  }),
  probe(4, 'unlink-twice', 'Unlinking a bot twice changes nothing the second time.', async (run) => {
    await whileUnlinked(run, async ({ appId, botId }) => {
      const before = await timesOf(run, botId)
      run.accepts(await run.call(apps.unlinkBot, { appId, botId }))
      run.equals('updatedAt and updated_at', await timesOf(run, botId), before)
    })
  }),
  probe(4, 'unlinked-bot', 'The record of an application does not list a bot that was unlinked.', async (run) => {
    await whileUnlinked(run, async () => run.equals('linkedBots', (await current(run)).linkedBots, []))
  }),
  probe.specified(1, 'unlink-keeps', 'Unlinking a bot keeps the application, templates and tokens.', async (run) => {
    const { token } = await fullToken(run)
    const as = { credential: token }
    const before = run.needs(await run.call(templates.list, {}, { as }), 'an application that may call')
    await whileUnlinked(run, async () => {
      const after = run.accepts(await run.call(templates.list, {}, { as }))
      run.equals('number of templates', after.pagination.total, before.pagination.total)
      run.equals('status of the application', (await current(run)).status, 'active')
    })
  }),
  issuing.specified(1, 'unlink-keeps-vouchers', 'Unlinking a bot keeps vouchers of the application.', async (run) => {
    const { as, issued } = await applicationVoucher(run)
    const input = { credential: credentialOf(run, issued) }
    run.needs(await run.call(vouchers.verify, input, { as }), 'a voucher')
    await whileUnlinked(run, async () => {
      run.accepts(await run.call(vouchers.verify, input, { as }))
    })
  }),
]
