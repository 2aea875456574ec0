import { bots as botContract } from '../../../contract/bots.js'
import { templates as contract, type Template } from '../../../contract/templates.js'
import { didYouMean } from '../../../values/closest.js'
import { asMembers } from '../../../values/json.js'
import type { Context } from '../../command/context.js'
import { type Failure, fail, suggested } from '../../failures/failure.js'
import type { Plan, Result } from '../../output/outcome.js'

const PAGE = 100
const TEMPLATE_ID = 'tpl_'

type PageResult = Result<{ readonly items: readonly Template[]; readonly pages: number }> | Plan | Failure

async function fetchPage(
  context: Context,
  bot: string | undefined,
  filter: { readonly page?: number; readonly external_template_id?: string },
): Promise<PageResult> {
  const input = { ...filter, limit: PAGE }
  const fetched = await (bot === undefined
    ? context.call(contract.list, input)
    : context.call(botContract.templates, { botId: bot, ...input }))
  if (!fetched.ok) return fetched
  const items = fetched.data.items.filter((it) => asMembers(it) !== undefined)
  return { ok: true, data: { items, pages: Number(asMembers(fetched.data.pagination)?.pages) } }
}

/** Finds the template with an external id: the unrejected one, otherwise the newest rejected one. */
export async function findByExternalId(
  context: Context,
  externalId: string,
  bot: string | undefined,
): Promise<Result<Template | undefined> | Plan | Failure> {
  const fetched = await fetchPage(context, bot, { external_template_id: externalId })
  if (!fetched.ok) return fetched
  const items = fetched.data.items.filter((it) => it.externalTemplateId === externalId)
  return { ok: true, data: items.find((it) => it.status !== 'rejected') ?? items[0] }
}

/** Finds a template by its id or its external id. No endpoint returns a single template. */
export async function findTemplate(
  context: Context,
  name: string,
  bot: string | undefined,
): Promise<Result<Template> | Plan | Failure> {
  if (name.startsWith(TEMPLATE_ID)) {
    for (let page = 1, pages = 1; page <= pages; page += 1) {
      const fetched = await fetchPage(context, bot, { page })
      if (!fetched.ok) return fetched
      const found = fetched.data.items.find((it) => it.id === name)
      if (found !== undefined) return { ok: true, data: found }
      if (fetched.data.items.length > 0) pages = fetched.data.pages
    }
  }
  const found = await findByExternalId(context, name, bot)
  if (!found.ok) return found
  if (found.data !== undefined) return { ok: true, data: found.data }
  const listed = await fetchPage(context, bot, {})
  const near = didYouMean(name, listed.ok ? listed.data.items.map((it) => it.externalTemplateId) : [], '')
  const hint = `${near} ${suggested`templates list`} shows the templates of this application.`.trimStart()
  return { ...fail('UNEXPECTED', `No template has the id or external id ${name}.`, hint), code: 'TEMPLATE_NOT_FOUND' }
}
