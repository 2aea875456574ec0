import type { Endpoint } from '../contract/endpoint.js'
import { platform } from '../contract/platform/platform.js'
import { platformVouchers } from '../contract/platform/voucher-history.js'
import { type InPieces, isMembers, type Members } from './events.js'
import type { Existing } from './preparation.js'

const PAGES = Array.from({ length: 10 }, (_, at) => at + 1)
const PER_PAGE = 100

const lists = [platform.applications, platform.templates, platform.bots, platform.chats]

/** Calls an endpoint of the operator; resolves to its data, or to undefined after a failure. */
export type ReadRecord = (endpoint: Endpoint, input: Members) => Promise<unknown>

/** Reads the records that exist on the server. Of vouchers only those with the ids. */
export async function readExisting(ids: readonly string[], read: ReadRecord, inPieces: InPieces): Promise<Existing> {
  const existing = new Map<string, Members>()
  for await (const id of inPieces(ids.filter((it) => it.startsWith('vch_')))) {
    const found = await read(platformVouchers.voucher, { voucherId: id })
    if (isMembers(found) && isMembers(found.voucher)) existing.set(id, { ...found.voucher, events: found.events })
  }
  for (const list of lists) {
    for await (const page of inPieces(PAGES)) {
      const found = await read(list, { page, limit: PER_PAGE })
      const items: readonly Members[] = isMembers(found) && Array.isArray(found.items) ? found.items : []
      for (const it of items) existing.set(String(it.id), it)
      if (items.length < PER_PAGE) break
    }
  }
  return existing
}
