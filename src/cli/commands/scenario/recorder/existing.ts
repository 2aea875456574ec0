import type { Endpoint } from '../../../../contract/endpoint.js'
import { platform } from '../../../../contract/platform/platform.js'
import { platformVouchers } from '../../../../contract/platform/voucher-history.js'
import type { Context } from '../../../command/context.js'
import { isMembers, type Members } from './events.js'
import type { Existing } from './preparation.js'

const PAGES_MAX = 10
const PER_PAGE = 100

const lists = [platform.applications, platform.templates, platform.bots, platform.chats]

/** Reads the records that exist on the server. Of vouchers only those with the ids, with their templates. */
export async function readExisting(context: Context, ids: readonly string[], signal: AbortSignal): Promise<Existing> {
  const existing = new Map<string, Members>()
  const read = async (endpoint: Endpoint, input: Members): Promise<Members | undefined> => {
    const result = await context.call(endpoint, input as never, { progress: 'Reading earlier records', signal })
    return result.ok && isMembers(result.data) ? result.data : undefined
  }
  for (const id of ids.filter((it) => it.startsWith('vch_'))) {
    const found = await read(platformVouchers.voucher, { voucherId: id })
    if (isMembers(found?.voucher)) existing.set(id, found.voucher)
  }
  for (const list of lists) {
    for (let page = 1; page <= PAGES_MAX; page += 1) {
      const found = await read(list, { page, limit: PER_PAGE })
      const items = Array.isArray(found?.items) ? found.items : []
      for (const it of items) existing.set(String(it.id), it)
      if (items.length < PER_PAGE) break
    }
  }
  return existing
}
