import { contract } from '../../../contract/index.js'
import { application, applicationToken, createTemplate } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { membersOrNone } from '../../wire.js'
import { createdTemplate } from './shared.js'

const probe = probesOf('lists', { needs: ['token'] })
const { templates, tokens } = contract
const { list } = templates

/** Two templates of the run, the older one first. */
const twoTemplates = (it: ProbeContext) =>
  it.resources.once('two templates', async () => {
    const older = it.needs(await createdTemplate(it), 'a template')
    return [older, it.needs(await createTemplate(it), 'a template')] as const
  })

export const lists = [
  probe(
    'pagination',
    'A list has items and pagination: page 1 and limit 20 unless the call names others.',
    { reads: true },
    async (it) => {
      const response = await it.send({ method: 'GET', path: list.path, as: 'token', headers: {} })
      const { items, pagination } = membersOrNone(it.needs(response, 'a list'))
      if (!Array.isArray(items)) return it.holds(false, 'items and pagination', response.data)
      const { page, limit, total, pages } = membersOrNone(pagination)
      it.equals('page and limit', [page, limit], [1, 20])
      it.equals('number of items', items.length, Math.min(20, Number(total)))
      it.equals('number of pages', pages, Math.ceil(Number(total) / 20))
    },
  ),
  ...[0, 101].map((limit) =>
    probe(`limit-of-${limit}`, `A list with the limit ${limit} is refused with 400.`, { reads: true }, async (it) =>
      it.refuses(await it.call(list, { limit }), 400),
    ),
  ),
  probe('limit-of-100', 'A list takes a limit of 100.', { reads: true }, async (it) => {
    it.needs(await it.call(list, {}), 'a list')
    const response = await it.call(list, { limit: 100 })
    it.succeeds(response)
    it.equals('pagination.limit', it.needs(response, 'a list').pagination.limit, 100)
  }),
  probe('second-page', 'Page 2 with the limit 1 has the second item of the list.', async (it) => {
    await twoTemplates(it)
    const { items } = it.needs(await it.call(list, { limit: 2 }), 'a list')
    const second = it.needs(await it.call(list, { limit: 1, page: 2 }), 'a page')
    it.equals(
      'ids of the page',
      second.items.map(({ id }) => id),
      [items[1]?.id],
    )
  }),
  probe('page-after-the-last', 'A page after the last has no items.', { reads: true }, async (it) => {
    it.needs(await it.call(list, {}), 'a list')
    const response = await it.call(list, { page: 1_000_000 })
    it.succeeds(response)
    it.equals('items', it.needs(response, 'a list').items, [])
  }),
  probe('newest-first', 'The newest record of a list comes first.', async (it) => {
    const [older, newer] = await twoTemplates(it)
    const { items } = it.needs(await it.call(list, { limit: 100 }), 'a list')
    const own = items.map(({ id }) => id).filter((id) => id === older.id || id === newer.id)
    if (own.length < 2) it.notApplicable('Needs two new templates among the first 100.')
    it.equals('order', own, [newer.id, older.id])
  }),
  probe('status-filter', 'A list of templates with a status has only templates of that status.', async (it) => {
    await twoTemplates(it)
    // The drafts of the run must not appear among the active templates.
    const { items } = it.needs(await it.call(list, { status: 'active', limit: 100 }), 'a list')
    it.equals(
      'statuses that are not active',
      items.map(({ status }) => status).filter((one) => one !== 'active'),
      [],
    )
  }),
  probe(
    'external-id-filter',
    'A list of templates with an external_template_id has only the templates with that id.',
    async (it) => {
      const [{ externalTemplateId: external_template_id }] = await twoTemplates(it)
      if (typeof external_template_id !== 'string') it.notApplicable('Needs a template with an externalTemplateId.')
      const { items } = it.needs(await it.call(list, { external_template_id }), 'a list with a filter')
      const found = items.map(({ externalTemplateId }) => externalTemplateId)
      it.equals('external ids', found, [external_template_id])
    },
  ),
  probe('revoked-tokens', 'A list of tokens contains revoked tokens.', { needs: ['jwt'] }, async (it) => {
    const { id: appId } = await application(it)
    const { id: tokenId } = await applicationToken(it, appId, ['vouchers:verify'])
    it.needs(await it.call(tokens.revoke, { appId, tokenId }), 'a revoked token')
    const { items } = it.needs(await it.call(tokens.list, { appId, limit: 100 }), 'a list of tokens')
    it.holds(
      items.some(({ id }) => id === tokenId),
      `the revoked token ${tokenId}`,
      items.map(({ id }) => id),
    )
  }),
]
