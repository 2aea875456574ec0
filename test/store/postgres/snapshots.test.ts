import { expect, it, onTestFinished } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { takeDatabase } from '../../support/postgres/database.js'
import { query } from '../../support/postgres/query.js'
import { callerOf } from '../../support/server/client.js'
import { until } from '../../support/server/deliveries.js'
import { seed, seedBotToken, seedToken } from '../../support/server/seed.js'
import { inFolder, standaloneServer } from '../../support/server/server.js'

it('a reset by one process ends the polls of another, which then serves the new state', async () => {
  await inFolder(async (dataDir) => {
    const database = takeDatabase()
    onTestFinished(() => database.release())
    const options = { dataDir, databaseUrl: await database.url, testClock: false }
    const first = await standaloneServer({ ...options, seed })
    const second = await standaloneServer(options)
    const sell = callerOf(second.send, seedToken)
    const issue = () =>
      sell(
        contract.vouchers.issue,
        { template_id: 'tpl_coffee', external_issue_id: 'one', recipient_user_id: 'u' },
        { key: 'k' },
      )
    await issue()
    const poll = callerOf(second.send, seedBotToken)(contract.bots.updates, { timeout: 50, allowed_updates: ['ping'] })
    await until(async () => (await query(options.databaseUrl, 'select holder from open_polls')).length === 1)
    await callerOf(first.send, first.operatorKey)(contract.platform.reset, { shared: true })
    expect((await poll).data.items).toEqual([])
    expect((await issue()).headers['idempotent-replayed']).toBeUndefined()
    await first.close()
    await second.close()
  })
})
