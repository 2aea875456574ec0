import { rmSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { takeDatabase } from '../../support/postgres/database.js'
import { query } from '../../support/postgres/query.js'
import { newChat, pollOf, say } from '../../support/server/chats.js'
import { until } from '../../support/server/deliveries.js'
import { standaloneServer, temporaryFolder } from '../../support/server/server.js'
import { tcpGate } from '../../support/server/tcp-gate.js'
import { newTenant } from '../../support/server/tenant.js'

/** A server that reaches its database through a proxy. */
async function serverBehindGate() {
  const database = takeDatabase()
  const url = new URL(await database.url)
  const gate = await tcpGate(Number(url.port))
  url.port = String(gate.port)
  const dataDir = temporaryFolder()
  const server = await standaloneServer({ dataDir, databaseUrl: url.href, testClock: false })
  onTestFinished(async () => {
    await server.close()
    await gate.remove()
    database.release()
    rmSync(dataDir, { recursive: true, force: true })
  })
  return { gate, tenant: await newTenant(server), url: await database.url }
}

it('poll returns the update of a commit whose result is lost', async () => {
  const { gate, tenant, url } = await serverBehindGate()
  const bot = await tenant.bot()
  const chat = await newChat(tenant, bot)
  await say(tenant, chat, 'first')
  const [{ update_id: last = 0 } = {}] = (await pollOf(bot)).slice(-1)
  const polling = pollOf(bot, { offset: last + 1, timeout: 50 })
  await until(async () => (await query(url, `select 1 from open_polls where bot_id = '${bot.id}'`)).length > 0)
  let isSaying = false
  let cuts = 0
  gate.cutWhen = (sent) => {
    isSaying ||= sent.includes('second')
    // The notice of the bot and the commit are sent together.
    const isCut = isSaying && cuts === 0 && sent.includes(` ${bot.id}`)
    if (isCut) cuts += 1
    return isCut
  }
  const lost = await tenant.operator(contract.platform.sendAsUser, { chatId: chat.id, text: 'second' })
  expect([lost.status, cuts]).toEqual([503, 1])
  expect(await polling).toHaveLength(1)
})

it('call whose commit result is lost gets 503; its repeat is a replay', { tags: 'idempotency-keys/5' }, async () => {
  const { gate, tenant } = await serverBehindGate()
  const { id: templateId } = await tenant.template({ issue_limit: 3 })
  const input = { template_id: templateId, external_issue_id: 'o-1', recipient_user_id: 'u' }
  const issue = () => tenant.runtime(contract.vouchers.issue, input, { key: 'lost' })
  // Issue another voucher first: once the statements are prepared, the commit is a separate message.
  await tenant.runtime(contract.vouchers.issue, { ...input, external_issue_id: 'o-0' })
  let issuing: object | undefined
  let commits = 0
  gate.cutWhen = (sent, connection) => {
    // Only the connection that issues this voucher counts: background work commits too.
    if (sent.includes('o-1')) issuing = connection
    // A commit is Bind, Execute and Sync of a prepared statement without parameters: a short message with B first.
    const commit = sent[0] === 'B'.charCodeAt(0) && sent.length < 60
    if (commit && connection === issuing) commits += 1
    return commit && connection === issuing && commits === 1
  }
  const lost = await issue()
  gate.cutWhen = null
  expect([lost.status, lost.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
  const again = await issue()
  expect([again.status, again.headers['idempotent-replayed']]).toEqual([201, 'true'])
  const [template] = (await tenant.runtime(contract.templates.list, {})).data.items
  expect(template?.issuedCount).toBe(2)
})
