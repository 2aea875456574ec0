import { scopes } from '../../../contract/endpoint.js'
import { contract } from '../../../contract/index.js'
import type { Template } from '../../../contract/templates.js'
import { application, applicationToken, templateInput, tryIssue } from '../../fixtures.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { Caller, Observed, ProbeContext } from '../../probe-context.js'
import { botIdOf, createByBot, keep, keptDraft, link, ownBot, submitByBot, unlink } from './shared.js'

const probe = probesOf('bot-side-templates', {
  needs: ['jwt'],
  specified: ['listed-members', 'draft-of-the-application'],
})
const { bots, templates } = contract
const ofUser: readonly Need[] = ['token', 'jwt', 'bot id']

type TemplateList = Observed<{ readonly items: readonly Template[] }>

/** Ids of the templates with an external id, even if the platform ignores the filter. */
const idsIn = (it: ProbeContext, list: TemplateList, externalId: string) => {
  const { items } = it.needs(list, 'a list of templates')
  return items.filter(({ externalTemplateId }) => externalTemplateId === externalId).map(({ id }) => id)
}

/** Ids of the templates with an external id that the list of a bot shows. */
async function listedByBot(it: ProbeContext, botId: string, external_template_id: string): Promise<string[]> {
  return idsIn(it, await it.call(bots.templates, { botId, external_template_id }), external_template_id)
}

/** Ids of the templates with an external id that the list of an application shows. */
async function listed(it: ProbeContext, external_template_id: string, as: Caller = 'token'): Promise<string[]> {
  return idsIn(it, await it.call(templates.list, { external_template_id }, { as }), external_template_id)
}

/** Needs the user's bot to be linked to the application of the user's token. Returns a draft of that application. */
async function draftOfLinkedApplication(it: ProbeContext): Promise<Template> {
  const draft = await keptDraft(it)
  const bot = it.needs(await it.call(bots.get, { botId: botIdOf(it) }), 'the bot')
  if (bot.application_id !== draft.applicationId) it.notApplicable("Needs a bot of the token's application.")
  return draft
}

/** Two drafts of the unlinked bot of this run. */
const draftsOfBot = (it: ProbeContext) =>
  keep(it, 'drafts of a bot', async () => {
    const { id } = await ownBot(it)
    const free = it.needs(await createByBot(it, templateInput(it), id), 'a template of a bot')
    const taken = it.needs(await createByBot(it, templateInput(it), id), 'a template of a bot')
    return { botId: id, free, taken }
  })

/** Links the bot to an application that uses the external id of one of its drafts. */
const linkedBot = (it: ProbeContext) =>
  keep(it, 'linked bot', async () => {
    const { botId, free, taken } = await draftsOfBot(it)
    const { id: appId } = await application(it)
    const as = { credential: (await applicationToken(it, appId, scopes)).token }
    const input = { ...templateInput(it), external_template_id: taken.externalTemplateId }
    it.resources.leaves('template', it.needs(await it.call(templates.create, input, { as }), 'a template').id)
    await link(it, appId, botId)
    return { botId, appId, free, taken, as }
  })

/** What the application lists of the draft whose external id it does not use. */
async function listOfApplication(it: ProbeContext): Promise<string[]> {
  const { free, as } = await linkedBot(it)
  return keep(it, 'list of the application', () => listed(it, free.externalTemplateId, as))
}

/** What the linked bot lists of the draft whose external id the application uses. */
async function listWhileLinked(it: ProbeContext): Promise<string[]> {
  const { botId, taken } = await linkedBot(it)
  return keep(it, 'list of the linked bot', () => listedByBot(it, botId, taken.externalTemplateId))
}

/** Ends the link after both lists are read. */
const unlinkedBot = (it: ProbeContext) =>
  keep(it, 'unlinked bot', async () => {
    await listOfApplication(it)
    await listWhileLinked(it)
    const { botId, appId, taken } = await linkedBot(it)
    await unlink(it, appId, botId)
    return { botId, taken }
  })

export const botSideTemplates = [
  probe(
    'listed-members',
    'A listed template has id, externalTemplateId, name, status, issueLimit and issuedCount.',
    { needs: ['jwt', 'bot id'], reads: true },
    async (it) => {
      const { items } = it.needs(await it.call(bots.templates, { botId: botIdOf(it) }), 'a list of templates')
      const { id, externalTemplateId, name, status, issueLimit, issuedCount } =
        items[0] ?? it.notApplicable('Needs a template.')
      const types = [id, externalTemplateId, name, status, issueLimit, issuedCount].map((value) => typeof value)
      it.equals('types', types, ['string', 'string', 'string', 'string', 'number', 'number'])
    },
  ),
  probe(
    'draft-of-the-application',
    'A draft of a linked bot belongs to its application.',
    { needs: ofUser },
    async (it) => {
      await draftOfLinkedApplication(it)
      const created = it.needs(await createByBot(it, templateInput(it)), 'a template of a bot')
      it.equals("ids in the application's list", await listed(it, created.externalTemplateId), [created.id])
    },
  ),
  probe(
    'list-of-a-linked-bot',
    'A linked bot lists the templates of its application.',
    { needs: ofUser },
    async (it) => {
      const { id, externalTemplateId } = await draftOfLinkedApplication(it)
      it.equals("ids in the bot's list", await listedByBot(it, botIdOf(it), externalTemplateId), [id])
    },
  ),
  probe('list-of-an-unlinked-bot', 'A bot without a link lists its own templates.', async (it) => {
    const { botId, free } = await draftsOfBot(it)
    it.equals("ids in the bot's list", await listedByBot(it, botId, free.externalTemplateId), [free.id])
  }),
  probe('review-without-a-link', 'A template of a bot without a link can be submitted.', async (it) => {
    const { botId, free } = await draftsOfBot(it)
    it.succeeds(await submitByBot(it, botId, free.id))
  }),
  probe(
    'no-issue-without-a-link',
    'Nobody can issue from a template of a bot without a link.',
    { needs: ['token', 'jwt'], vouchers: 1 },
    async (it) => {
      const { free } = await draftsOfBot(it)
      const { status } = await tryIssue(it, { template_id: free.id })
      it.holds(status >= 400 && status <= 499, 'a refusal', `status ${status}`)
    },
  ),
  probe('link', 'A link gives the templates of the bot to the application.', async (it) => {
    const { free } = await linkedBot(it)
    it.equals("ids in the application's list", await listOfApplication(it), [free.id])
  }),
  probe(
    'used-id-while-linked',
    'A template of the bot whose external id the application already uses is hidden until the link ends.',
    async (it) => {
      const { taken } = await linkedBot(it)
      const ids = await listWhileLinked(it)
      it.holds(!ids.includes(taken.id), 'a list without the template of the bot', ids)
    },
  ),
  probe('used-id-after-the-link', 'A template of the bot that the link has hidden stays with the bot.', async (it) => {
    const { botId, taken } = await unlinkedBot(it)
    it.equals("ids in the bot's list", await listedByBot(it, botId, taken.externalTemplateId), [taken.id])
  }),
  probe(
    'later-link',
    'A later link gives the application the templates whose external id it does not use.',
    { needs: ['token', 'jwt'] },
    async (it) => {
      const { botId, taken } = await unlinkedBot(it)
      const appId = (await keptDraft(it)).applicationId ?? it.notApplicable('Needs applicationId of a template.')
      await link(it, appId, botId)
      it.equals("ids in the application's list", await listed(it, taken.externalTemplateId), [taken.id])
    },
  ),
]
