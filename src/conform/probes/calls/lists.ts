import { contract } from '../../../contract/index.js'
import { probesOf } from '../../probe.js'

const probe = probesOf('lists')
const { list } = contract.templates

export const lists = [
  probe(
    'pagination',
    'A list has items and pagination: page 1 and limit 20 unless the call names others.',
    ['token'],
    async (it) => {
      const { items, pagination } = it.accepts(await it.call(list, {}))
      it.equals('page and limit', [pagination.page, pagination.limit], [1, 20])
      it.equals('number of items', items.length, Math.min(20, pagination.total))
      it.equals('number of pages', pagination.pages, Math.ceil(pagination.total / 20))
    },
    { reads: true },
  ),
  ...[0, 101].map((limit) =>
    probe(
      `limit-of-${limit}`,
      `A list with the limit ${limit} is refused with 400.`,
      ['token'],
      async (it) => it.refuses(await it.call(list, { limit }), 400, 'VALIDATION_FAILED'),
      { reads: true },
    ),
  ),
  probe(
    'page-after-the-last',
    'A page after the last has no items.',
    ['token'],
    async (it) => it.equals('items', it.accepts(await it.call(list, { page: 1_000_000 })).items, []),
    { reads: true },
  ),
]
