import { scopes } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import type { Template } from '../../../contract/templates.js'
import { application, applicationToken, templateInput, tryIssue } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Caller, Observed, ProbeContext } from '../../probe-context.js'
import { botIdOf, createByBot, keep, keptDraft, link, ownBot, submitByBot, unlink } from './shared.js'

const probe = probesOf('bot-side-templates', { needs: ['jwt'] })
const tokenIssuing = probe.with({ needs: ['token', 'jwt'], vouchers: 1 })
const { bots, templates } = contract
const userProbe = probe.with({ needs: ['token', 'jwt', 'bot id'] })

type TemplateList = Observed<{ readonly items: readonly Template[] }>

/** Ids of templates with an external id, even if the platform ignores the filter. */
const idsIn = (run: ProbeContext, list: TemplateList, externalId: string) => {
  const { items } = run.needs(list, 'a list of templates')
  return items.filter(({ externalTemplateId }) => externalTemplateId === externalId).map(({ id }) => id)
}

async function listedByBot(run: ProbeContext, botId: string, external_template_id: string): Promise<string[]> {
  return idsIn(run, await run.call(bots.templates, { botId, external_template_id }), external_template_id)
}

async function listed(run: ProbeContext, external_template_id: string, as: Caller = 'token'): Promise<string[]> {
  return idsIn(run, await run.call(templates.list, { external_template_id }, { as }), external_template_id)
}

/** Creates a draft of the user's application; the probe ends unless the user's bot is linked to that application. */
async function draftOfLinkedApplication(run: ProbeContext): Promise<Template> {
  const draft = await keptDraft(run)
  const bot = run.needs(await run.call(bots.get, { botId: botIdOf(run) }), 'the bot')
  if (bot.application_id !== draft.applicationId) run.notApplicable("Needs a bot of the token's application.")
  return draft
}

const draftsOfBot = (run: ProbeContext) =>
  keep(run, 'drafts of a bot', async () => {
    const { id } = await ownBot(run)
    const free = run.needs(await createByBot(run, templateInput(run), id), 'a template of a bot')
    const taken = run.needs(await createByBot(run, templateInput(run), id), 'a template of a bot')
    return { botId: id, free, taken }
  })

/** Links the bot to an application with a template that has the same external id as one of the bot's drafts. */
const linkedBot = (run: ProbeContext) =>
  keep(run, 'linked bot', async () => {
    const { botId, free, taken } = await draftsOfBot(run)
    const { id: appId } = await application(run)
    const as = { credential: (await applicationToken(run, appId, scopes)).token }
    const input = { ...templateInput(run), external_template_id: taken.externalTemplateId }
    run.resources.leaves('template', run.needs(await run.call(templates.create, input, { as }), 'a template').id)
    await link(run, appId, botId)
    return { botId, appId, free, taken, as }
  })

/** Entry of the draft with a unique external id in the application's list. */
async function listOfApplication(run: ProbeContext): Promise<string[]> {
  const { free, as } = await linkedBot(run)
  return keep(run, 'list of the application', () => listed(run, free.externalTemplateId, as))
}

/** Entry of the draft with the shared external id in the linked bot's list. */
async function listWhileLinked(run: ProbeContext): Promise<string[]> {
  const { botId, taken } = await linkedBot(run)
  return keep(run, 'list of the linked bot', () => listedByBot(run, botId, taken.externalTemplateId))
}

/** Ends the link after both lists are read. */
const unlinkedBot = (run: ProbeContext) =>
  keep(run, 'unlinked bot', async () => {
    await listOfApplication(run)
    await listWhileLinked(run)
    const { botId, appId, taken } = await linkedBot(run)
    await unlink(run, appId, botId)
    return { botId, taken }
  })

export const botSideTemplates = [
  probe
    .with({ needs: ['jwt', 'bot id'], reads: true })
    .specified(
      1,
      'listed-members',
      'A listed template has id, externalTemplateId, name, status, issueLimit and issuedCount.',
      async (run) => {
        const { items } = run.needs(await run.call(bots.templates, { botId: botIdOf(run) }), 'a list of templates')
        const { id, externalTemplateId, name, status, issueLimit, issuedCount } =
          items[0] ?? run.notApplicable('Needs a template.')
        const types = [id, externalTemplateId, name, status, issueLimit, issuedCount].map((value) => typeof value)
        run.equals('types', types, ['string', 'string', 'string', 'string', 'number', 'number'])
      },
    ),
  userProbe.specified(1, 'draft-of-the-application', 'The application of a linked bot has its drafts.', async (run) => {
    await draftOfLinkedApplication(run)
    const created = run.needs(await createByBot(run, templateInput(run)), 'a template of a bot')
    run.equals("ids in the application's list", await listed(run, created.externalTemplateId), [created.id])
  }),
  userProbe(3, 'list-of-a-linked-bot', 'A linked bot lists the templates of its application.', async (run) => {
    const { id, externalTemplateId } = await draftOfLinkedApplication(run)
    run.equals("ids in the bot's list", await listedByBot(run, botIdOf(run), externalTemplateId), [id])
  }),
  probe(3, 'list-of-an-unlinked-bot', 'A bot without a link lists its own templates.', async (run) => {
    const { botId, free } = await draftsOfBot(run)
    run.equals("ids in the bot's list", await listedByBot(run, botId, free.externalTemplateId), [free.id])
  }),
  probe(2, 'review-without-a-link', 'A template of a bot without a link can be submitted.', async (run) => {
    const { botId, free } = await draftsOfBot(run)
    run.succeeds(await submitByBot(run, botId, free.id))
  }),
  tokenIssuing(2, 'no-issue-without-a-link', 'Nobody can issue from a template of an unlinked bot.', async (run) => {
    const { free } = await draftsOfBot(run)
    const { status } = await tryIssue(run, { template_id: free.id })
    run.holds(status >= 400 && status <= 499, 'a refusal', `status ${status}`)
  }),
  probe(2, 'link', 'A link gives the templates of the bot to the application.', async (run) => {
    const { free } = await linkedBot(run)
    run.equals("ids in the application's list", await listOfApplication(run), [free.id])
  }),
  probe(2, 'used-id-while-linked', "A bot's template with a used external id is hidden while linked.", async (run) => {
    const { taken } = await linkedBot(run)
    const ids = await listWhileLinked(run)
    run.holds(!ids.includes(taken.id), 'a list without the template of the bot', ids)
  }),
  probe(2, 'used-id-after-the-link', 'A template that the link has hidden stays with the bot.', async (run) => {
    const { botId, taken } = await unlinkedBot(run)
    run.equals("ids in the bot's list", await listedByBot(run, botId, taken.externalTemplateId), [taken.id])
  }),
  probe.with({ needs: ['token', 'jwt'] })(
    2,
    'later-link',
    'A later link gives the application the templates whose external id it does not use.',
    async (run) => {
      const { botId, taken } = await unlinkedBot(run)
      const appId = (await keptDraft(run)).applicationId ?? run.notApplicable('Needs applicationId of a template.')
      await link(run, appId, botId)
      run.equals("ids in the application's list", await listed(run, taken.externalTemplateId), [taken.id])
    },
  ),
]
