import { contract } from '../../../contract/index.js'
import { application, applicationToken, CLOCK_STEP_MS, createTemplate } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { createdTemplate } from './shared.js'

const probe = probesOf('lists', { needs: ['token'] })
const reading = probe.with({ reads: true })
const { apps, bots, templates, tokens } = contract
const { list } = templates
/** Pages that `all-pages` reads: two full ones, a rest, an empty one, and one more for new records. */
const PAGES = 5

/** Two templates of the run, the older one first. */
const twoTemplates = (run: ProbeContext) =>
  run.resources.once('two templates', async () => {
    const older = run.needs(await createdTemplate(run), 'a template')
    await run.resources.pause(CLOCK_STEP_MS)
    return [older, run.needs(await createTemplate(run), 'a template')] as const
  })

export const lists = [
  reading(2, 'pagination', 'A list has items and pagination, by default page 1 and limit 20.', async (run) => {
    const response = await run.send({ method: 'GET', path: list.path, as: 'token', headers: {} })
    const { items, pagination } = membersOrNone(run.needs(response, 'a list'))
    if (!Array.isArray(items)) return run.holds(false, 'items and pagination', response.data)
    const { page, limit, total, pages } = membersOrNone(pagination)
    run.equals('page and limit', [page, limit], [1, 20])
    run.equals('number of items', items.length, Math.min(20, Number(total)))
    run.equals('number of pages', pages, Math.ceil(Number(total) / 20))
  }),
  ...[0, 101].map((limit) =>
    reading(2, `limit-of-${limit}`, `A list with the limit ${limit} is refused with 400.`, async (run) =>
      run.refuses(await run.call(list, { limit }), 400),
    ),
  ),
  reading(2, 'limit-of-100', 'A list takes a limit of 100.', async (run) => {
    run.needs(await run.call(list, {}), 'a list')
    const response = await run.call(list, { limit: 100 })
    run.succeeds(response)
    run.equals('pagination.limit', run.needs(response, 'a list').pagination.limit, 100)
  }),
  probe(2, 'second-page', 'Page 2 with the limit 1 has the second item of the list.', async (run) => {
    await twoTemplates(run)
    const { items } = run.needs(await run.call(list, { limit: 2 }), 'a list')
    const second = run.needs(await run.call(list, { limit: 1, page: 2 }), 'a page')
    const ids = second.items.map(({ id }) => id)
    run.equals('ids of the page', ids, [items[1]?.id])
  }),
  ...[
    { what: 'templates', list, needs: ['token'] as const },
    { what: 'applications', list: apps.list, needs: ['jwt'] as const },
    { what: 'bots', list: bots.list, needs: ['jwt'] as const },
  ].map(({ what, list, needs }) =>
    reading.with({ needs })(
      5,
      `all-pages-of-${what}`,
      `The pages of the list of ${what} have each record once, and total and pages count all of them.`,
      async (run) => {
        const page = async (input: object) => run.needs(await run.call(list, { ...input }), 'a list')
        const { total } = (await page({})).pagination
        const limit = Math.min(100, Math.max(1, Math.ceil(total / 3)))
        const ids: string[] = []
        const counts = new Set<string>()
        let isWhole = false
        for (let at = 1; at <= PAGES && !isWhole; at += 1) {
          const { items, pagination } = await page({ limit, page: at })
          ids.push(...items.map(({ id }) => id))
          counts.add(`${pagination.total} on ${pagination.pages} pages`)
          isWhole = items.length === 0
        }
        if ((await page({})).pagination.total !== total) run.notApplicable('Needs a list that does not change.')
        run.equals('records on several pages', ids.length - new Set(ids).size, 0)
        const all = isWhole ? ids.length : Math.max(total, ids.length)
        run.equals('total and pages', [...counts], [`${all} on ${Math.ceil(all / limit)} pages`])
      },
    ),
  ),
  reading(2, 'page-after-the-last', 'A page after the last has no items.', async (run) => {
    run.needs(await run.call(list, {}), 'a list')
    const response = await run.call(list, { page: 1_000_000 })
    run.succeeds(response)
    run.equals('items', run.needs(response, 'a list').items, [])
  }),
  probe(3, 'newest-first', 'The newest record of a list comes first.', async (run) => {
    const [older, newer] = await twoTemplates(run)
    const { items } = run.needs(await run.call(list, { limit: 100 }), 'a list')
    const own = items.map(({ id }) => id).filter((id) => id === older.id || id === newer.id)
    if (own.length < 2) run.notApplicable('Needs two new templates among the first 100.')
    run.equals('order', own, [newer.id, older.id])
  }),
  probe(2, 'status-filter', 'A list of templates with a status has only templates of that status.', async (run) => {
    await twoTemplates(run)
    // Drafts of the run must not appear among the active templates.
    const { items } = run.needs(await run.call(list, { status: 'active', limit: 100 }), 'a list')
    const others = items.map(({ status }) => status).filter((one) => one !== 'active')
    run.equals('statuses that are not active', others, [])
  }),
  probe(2, 'external-id-filter', 'A list by external_template_id has only templates with that id.', async (run) => {
    const [{ externalTemplateId: external_template_id }] = await twoTemplates(run)
    if (typeof external_template_id !== 'string') run.notApplicable('Needs a template with an externalTemplateId.')
    const { items } = run.needs(await run.call(list, { external_template_id }), 'a list with a filter')
    const found = items.map(({ externalTemplateId }) => externalTemplateId)
    run.equals('external ids', found, [external_template_id])
  }),
  probe.with({ needs: ['jwt'] })(4, 'revoked-tokens', 'A list of tokens contains revoked tokens.', async (run) => {
    const { id: appId } = await application(run)
    const { id: tokenId } = await applicationToken(run, appId, ['vouchers:verify'])
    run.needs(await run.call(tokens.revoke, { appId, tokenId }), 'a revoked token')
    const { items } = run.needs(await run.call(tokens.list, { appId, limit: 100 }), 'a list of tokens')
    const ids = items.map(({ id }) => id)
    run.holds(ids.includes(tokenId), `the revoked token ${tokenId}`, ids)
  }),
]
