import { execFile } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { contract } from '../../../src/contract/index.js'
import type { IssuedVoucher, Redemption } from '../../../src/contract/vouchers.js'
import { codeOf, type Tenant } from '../../support/server/tenant.js'
import type { Action, CallLog, Entry } from '../call-log.js'
import type { Campaign, Run } from '../campaign.js'
import { send } from '../clients.js'
import { breachesOf } from '../invariants.js'
import { type Server, tenantAt } from '../server.js'
import { startWithTenant } from '../server-with-tenant.js'

/** Makes the server close the connection of the next call to the endpoint after its commit, without a response. */
const drop = (tenant: Tenant, action: Action) =>
  tenant.operator(contract.platform.addFault, { endpoint: `vouchers.${action}`, kind: 'drop_response', times: 1 })

/** The states of one kind of call: its response is dropped, with and without a kill. */
const statesOf = (action: Action) => [
  `a server replayed ${action}`,
  `a restarted server replayed ${action} after a kill`,
]

export const droppedResponses: Campaign = {
  row: 'R3',
  name: 'response dropped after the commit, killed between effect and response, then the retry',
  tags: ['faults/1', 'idempotency-keys/1', 'idempotency-keys/5'],
  requirement: 'The connection closes after the commit, often with the process. Retries return the original response.',
  states: [
    ...(['issue', 'redeem', 'reverse'] as const).flatMap(statesOf),
    'a call took effect without a response',
    'a retry was a replay',
    'vouchers redeem retried a call whose response was dropped',
  ],

  async run(run: Run) {
    const { quick, folder, root, sometimes } = run
    const { first, templateId: template_id, callLog, dataDir, start, ...started } = await startWithTenant(run)
    let { server } = started
    const broken: string[] = []
    let kills = 0

    /** Sends a call whose response is dropped, optionally kills the server, then repeats the call twice. */
    const sendWithoutResponse = async (entry: Entry, killed: boolean) => {
      await drop(tenantAt(server, first), entry.action)
      if ((await send(tenantAt(server, first), callLog, entry)) !== null) broken.push(`${entry.key} got a response`)
      if (killed) {
        await server.kill()
        kills += 1
        server = await start()
      }
      const responses = [
        await send(tenantAt(server, first), callLog, entry),
        await send(tenantAt(server, first), callLog, entry),
      ]
      for (const response of responses) {
        const replayed = response?.headers['idempotent-replayed']
        if (response === null || response.status >= 300 || replayed !== 'true') {
          broken.push(`${entry.key} again: ${response?.status} ${response?.text}, replayed: ${replayed}`)
        } else sometimes.note(statesOf(entry.action)[killed ? 1 : 0] as string)
      }
      return responses[0]
    }

    const rounds = quick ? 6 : 120
    for (let round = 0; round < rounds && broken.length === 0; round++) {
      // Three of four rounds kill the server after one of their calls.
      const killedAt = ['none', 'issue', 'redeem', 'reverse'][round % 4]
      const issue = { template_id, external_issue_id: `d-${round}`, recipient_user_id: 'user' }
      const issued = await sendWithoutResponse(callLog.open(`issue-${round}`, 'issue', issue), killedAt === 'issue')
      if (issued?.status !== 201) continue
      const credential = codeOf(issued.data as IssuedVoucher)
      const redeemed = await sendWithoutResponse(
        callLog.open(`redeem-${round}`, 'redeem', { credential }),
        killedAt === 'redeem',
      )
      if (redeemed?.status !== 200) continue
      const { id: redemptionId } = redeemed.data as Redemption
      await sendWithoutResponse(callLog.open(`reverse-${round}`, 'reverse', { redemptionId }), killedAt === 'reverse')
    }
    if (callLog.doneWithoutResponse !== callLog.acknowledged().length)
      broken.push('a call was not carried out the first time')

    broken.push(...(await checkCommandRetries(root, server, tenantAt(server, first), template_id, callLog)))
    await server.stop()
    broken.push(...breachesOf(dataDir, folder, callLog))
    return { facts: { calls: callLog.acknowledged().length, kills }, broken }
  },
}

/** Requires that `voucherctl vouchers redeem` retries automatically after a dropped response. */
async function checkCommandRetries(
  root: string,
  server: Server,
  tenant: Tenant,
  template_id: string,
  callLog: CallLog,
) {
  const input = { template_id, external_issue_id: 'tool', recipient_user_id: 'user' }
  const issued = await send(tenant, callLog, callLog.open('issue-tool', 'issue', input))
  const credential = codeOf(issued?.data as IssuedVoucher)
  await drop(tenant, 'redeem')
  const args = ['vouchers', 'redeem', '--code', credential.value, '--idempotency-key', 'redeem-tool', '--json']
  const env = { PATH: process.env.PATH, HOME: join(root, 'dist'), VOUCHERCTL_TOKEN: tenant.token }
  const { code, output } = await new Promise<{ code: number | null; output: string }>((resolve) => {
    const command = [join(root, 'bin', 'voucherctl.js'), ...args, '--base-url', server.baseUrl]
    const child = execFile(process.execPath, command, { env }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, output: stdout + stderr }),
    )
    child.stdin?.end()
  })
  if (code !== 0) return [`voucherctl vouchers redeem ended with ${code}: ${output}`]
  // A call with the idempotency key of the command must return the redemption that the command printed.
  const again = await send(tenant, callLog, callLog.open('redeem-tool', 'redeem', { credential }))
  const { id } = JSON.parse(output) as Redemption
  if ((again?.data as Redemption).id !== id) return ['the command printed another redemption than the one that is kept']
  if (again?.headers['idempotent-replayed'] === 'true') {
    callLog.sometimes.note('vouchers redeem retried a call whose response was dropped')
  }
  return []
}
