import type { Host } from '../host/host.js'
import type { Word } from './command-words.js'
import type { LocalKind } from './kinds.js'
import type { Wanted } from './wanted.js'

type LocalWanted = Extract<Wanted, { kind: 'local' }>

const NEWEST = 100
/** A larger inbox takes too long to open for somebody who has pressed Tab. */
const INBOX_BYTES_MAX = 64 * 1024 * 1024
const API = '/api/v1'

/** What this machine knows by itself: no server is asked. */
export const localWords: Readonly<Record<LocalKind, (wanted: LocalWanted, host: Host) => Promise<readonly Word[]>>> = {
  recorded: async ({ given }, host) => {
    const { inboxDirOf } = await import('../commands/webhook/inbox-dir.js')
    const { inboxBytes } = await import('../../workbench/inbox/files.js')
    const dir = inboxDirOf(host, given.get('inbox')?.[0])
    if (inboxBytes(dir) > INBOX_BYTES_MAX) return []
    const { Inbox } = await import('../../workbench/inbox/inbox.js')
    const inbox = new Inbox(dir)
    return inbox
      .find({}, NEWEST)
      .reverse()
      .map((it) => {
        const { id, at, verdict, type, update_id, reason } = it
        const what = update_id === null ? (reason ?? 'no update') : `${type ?? 'no type'} #${update_id}`
        return { value: id, summary: `${what}, ${verdict}, ${new Date(at).toISOString().slice(0, 19)}Z` }
      })
  },
  endpoints: async () => {
    const { endpoints } = await import('../../contract/index.js')
    return endpoints.filter((it) => it.caller !== 'operator').map(({ id, summary }) => ({ value: id, summary }))
  },
  routes: async ({ path, operands, current }) => {
    const { knownRoutes } = await import('../commands/api/endpoint.js')
    const method = operands[0]?.toUpperCase()
    const isInner = path === 'secure call'
    const routes = (await knownRoutes()).filter(
      (it) =>
        it.method === method && (!isInner || (it.path.startsWith(`${API}/`) && !it.path.startsWith(`${API}/secure/`))),
    )
    const isShort = !isInner && !current.startsWith(API)
    const shown = (it: string) => (isShort && it.startsWith(`${API}/`) ? it.slice(API.length) : it)
    return routes.map((it) => ({ value: shown(it.path), summary: it.summary }))
  },
}
