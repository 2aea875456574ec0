import { join } from 'node:path'
import { newTenant } from '../support/server/tenant.js'
import { CallLog } from './call-log.js'
import type { Run } from './campaign.js'
import { startServer } from './server.js'

/** Starts a server with a tenant and a template with a large quota; `start` of the result starts the server again. */
export async function startWithTenant({ folder, root, sometimes }: Run, dataDir = join(folder, 'data')) {
  const start = () => startServer(root, dataDir)
  const server = await start()
  const first = await newTenant(server)
  const { id: templateId } = await first.template({ issue_limit: 1_000_000 })
  const callLog = new CallLog(join(folder, 'acknowledged.ndjson'), sometimes)
  return { server, first, templateId, callLog, dataDir, start }
}
