import { expect, onTestFinished, test } from 'vitest'
import { commandLineOf, type PlannedCall } from '../../../../src/inspector/page/model/planned-call.js'
import { bash } from '../../../support/cli/bash.js'
import { cliServer } from '../../../support/cli/server.js'
import { referenceEndpoints, referenceOf } from '../../../support/page/reference.js'
import { botBody, templateBody } from '../../../support/server/tenant.js'

test('copied command of every action does on the built command line what the action does', async () => {
  const server = await cliServer()
  onTestFinished(() => server.close())
  const { client, env } = server
  const { id: voucherId, credential } = await server.issue()
  const tried = new Set<string>()
  const run = async (endpoint: PlannedCall['endpoint'], input: PlannedCall['input'], more = {}) => {
    tried.add(endpoint)
    const command = commandLineOf({ endpoint, input, ...more }, referenceOf(endpoint))
    const line = `voucherctl() { "$node" "$cli" "$@"; }; ${command?.replace('voucherctl', 'voucherctl --json')}`
    const { exit, stdout, stderr } = await bash(line, { ...env, SECRET: credential.value })
    expect([command, exit, stderr]).toEqual([command, 0, ''])
    return JSON.parse(stdout)
  }
  await run(
    'vouchers.issue',
    { template_id: 'tpl_coffee', external_issue_id: 'order-1', recipient_user_id: 'user-1' },
    { idempotencyKey: 'key-1' },
  )
  await run('vouchers.verify', {}, { voucherId })
  const redeemed = await run('vouchers.redeem', { reference: 'order-1' }, { voucherId, idempotencyKey: 'key-2' })
  expect(redeemed).toMatchObject({ voucherId, reference: 'order-1' })
  const reason = "the customer's wish"
  const reversed = await run('vouchers.reverse', { redemptionId: redeemed.id, reason }, { idempotencyKey: 'key-3' })
  expect(reversed).toMatchObject({ status: 'reversed', reversalReason: reason })

  const chat = await run('platform.createChat', { bot_id: 'bot_shop', user_id: 'user-1' })
  const text = 'Hello $HOME\n"you"'
  expect(await run('platform.sendAsUser', { chatId: chat.id, text })).toMatchObject({ text })
  expect(await run('platform.blockChat', { chatId: chat.id })).toMatchObject({ blocked: true })
  expect(await run('platform.unblockChat', { chatId: chat.id })).toMatchObject({ blocked: false })

  const created = await client.templates.create(templateBody())
  const templateId = created.ok ? created.data.id : ''
  await run('templates.submit', { templateId })
  await run('platform.rejectTemplate', { templateId, code: 'unclear_terms', reason })
  await run('templates.submit', { templateId })
  expect(await run('platform.approveTemplate', { templateId })).toMatchObject({ status: 'active' })
  for (const decision of ['approveBot', 'rejectBot'] as const) {
    const applied = await client.bots.apply(botBody())
    const botId = applied.ok ? applied.data.id : ''
    await run(`platform.${decision}`, { botId, ...(decision === 'rejectBot' && { note: reason }) })
  }
  await run('platform.setClock', { now: '2127-01-01T00:00:00.000Z' })
  const withCommand = referenceEndpoints.filter((it) => it.command !== null)
  expect([...tried].sort()).toEqual(withCommand.map((it) => it.id).sort())
})
