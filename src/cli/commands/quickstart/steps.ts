import { withSecure } from '../../../client/secure.js'
import type { Transport } from '../../../client/transport.js'
import { apps } from '../../../contract/apps.js'
import { scopes } from '../../../contract/endpoint.js'
import { platform } from '../../../contract/platform/platform.js'
import { redact } from '../../../contract/secrets.js'
import { templates } from '../../../contract/templates.js'
import { tokens } from '../../../contract/tokens.js'
import { type Credential, vouchers } from '../../../contract/vouchers.js'
import { readOperatorKey } from '../../config/local-server.js'
import type { ScenarioInbox } from '../../scenario/inbox.js'
import { credentialOf } from '../vouchers/issue.js'
import { runBotSteps } from './bot.js'
import { type ServerFacts, unexpected, type Walkthrough } from './walkthrough.js'

const account = 'demo'

/**
 * Runs all steps in order.
 * @throws StepFailure
 */
export async function runSteps(walkthrough: Walkthrough, server: ServerFacts, receiver: ScenarioInbox): Promise<void> {
  await walkthrough.add({
    title: 'A server',
    command: 'voucherctl server start --detach',
    result: `${server.baseUrl}, with a database in ${server.dataDir}`,
    call: null,
    status: null,
    exit: 0,
  })
  const key = readOperatorKey({ operator_key_file: server.operatorKeyFile })
  if (key === undefined) throw unexpected('The server wrote no operator key.')
  walkthrough.credentials.set('operator', key)
  const prepared = await runSetupSteps(walkthrough)
  await runVoucherSteps(walkthrough, prepared.templateId)
  await runBotSteps(walkthrough, prepared, receiver)
}

/** Runs the steps that log in and create an application and an active template. */
async function runSetupSteps(walkthrough: Walkthrough): Promise<{ appId: string; templateId: string }> {
  const login = await walkthrough.run(platform.issueAccountToken, {
    title: 'An account',
    command: `voucherctl login --local --account ${account}`,
    input: { accountId: account },
    describe: (it) => `account ${account}, with a JWT until ${it.expires_at}`,
  })
  walkthrough.credentials.set('jwt', login.jwt)

  const name = 'Corner shop'
  const app = await walkthrough.run(apps.create, {
    title: 'An application',
    command: `voucherctl apps create --name "${name}"`,
    input: { name },
    describe: (it) => `${it.id}, ${it.status}`,
  })

  const token = await walkthrough.run(tokens.create, {
    title: 'A token for the application',
    command: `voucherctl tokens create --app ${app.id} ${scopes.map((it) => `--scope ${it}`).join(' ')} --save`,
    input: { appId: app.id, name: 'quickstart', scopes: [...scopes] },
    describe: (it) => `${redact(it.token)}, shown once, with ${it.scopes.length} scopes`,
  })
  walkthrough.credentials.set('token', token.token)

  const draft = await walkthrough.run(templates.create, {
    title: 'A template',
    command:
      'voucherctl templates create --external-id coffee --name "Free coffee" --type exchange --issuer-name "Corner shop" --fulfiller-name "Corner shop" --fulfillment-category offline_service --acquisition-source free_claim --valid-days 30 --issue-limit 100',
    input: {
      external_template_id: 'coffee',
      name: 'Free coffee',
      type: 'exchange',
      issuer_name: name,
      fulfiller_name: name,
      fulfillment_category: 'offline_service',
      acquisition_source: 'free_claim',
      validity: { type: 'relative', duration_days: 30 },
      issue_limit: 100,
    },
    describe: (it) => `${it.id}, ${it.status}: 100 vouchers at most, 30 days each`,
  })
  const { id } = draft
  await walkthrough.run(templates.submit, {
    title: 'Submitted for review',
    command: `voucherctl templates submit ${id}`,
    input: { templateId: id },
    describe: (it) => `the template is ${it.status}`,
  })
  await walkthrough.run(platform.approveTemplate, {
    title: 'Approved, as the platform would',
    command: `voucherctl platform templates approve ${id}`,
    input: { templateId: id },
    describe: (it) => `the template is ${it.status}: it can be issued`,
  })
  return { appId: app.id, templateId: id }
}

/** Runs the steps that issue, verify, redeem and reverse a voucher. */
async function runVoucherSteps(walkthrough: Walkthrough, templateId: string): Promise<void> {
  const issued = await walkthrough.run(vouchers.issue, {
    title: 'Issued to a user',
    command: `voucherctl vouchers issue --template ${templateId} --external-id order-1001 --recipient user-42 --qr`,
    input: { template_id: templateId, external_issue_id: 'order-1001', recipient_user_id: 'user-42' },
    describe: (it) => `redeem code ${credentialOf(it, 'redeem_code')}, valid until ${it.validUntil}`,
  })
  const code = credentialOf(issued, 'redeem_code')
  const qrToken = credentialOf(issued, 'qr_token')
  if (code === undefined || qrToken === undefined) throw unexpected('The voucher came without its credentials.')
  await walkthrough.draw(qrToken)

  const credential = { type: 'redeem_code', value: code } as const
  const look = (title: string) =>
    walkthrough.run(vouchers.verify, {
      title,
      command: `voucherctl vouchers verify --code ${code}`,
      input: { credential },
      describe: (it) => (it.redeemable ? 'redeemable' : `not redeemable: ${it.reason}`),
    })
  await look('Verified, which changes nothing')
  await showEncryptedCall(walkthrough, credential)

  const idempotencyKey = walkthrough.newIdempotencyKey()
  const redeemed = await walkthrough.run(vouchers.redeem, {
    title: 'Redeemed',
    command: `voucherctl vouchers redeem --code ${code}`,
    input: { credential },
    idempotencyKey,
    describe: (it) => `redemption ${it.id}`,
  })
  const repeated = await walkthrough.run(vouchers.redeem, {
    title: 'The same call again, as after a lost response',
    command: `voucherctl vouchers redeem --code ${code} --idempotency-key ${idempotencyKey}`,
    input: { credential },
    idempotencyKey,
    describe: (it, replayed) => `the same redemption ${it.id}${replayed ? ', replayed' : ''}`,
  })
  if (repeated.id !== redeemed.id) throw unexpected('The repeat made another redemption.')

  await walkthrough.runRefused(vouchers.redeem, 'VOUCHER_ALREADY_REDEEMED', {
    title: 'A second redemption, which is refused',
    command: `voucherctl vouchers redeem --code ${code}`,
    input: { credential },
    idempotencyKey: walkthrough.newIdempotencyKey(),
  })

  await walkthrough.run(vouchers.reverse, {
    title: 'Reversed',
    command: `voucherctl vouchers reverse ${redeemed.id} --reason "wrong drink"`,
    input: { redemptionId: redeemed.id, reason: 'wrong drink' },
    idempotencyKey: walkthrough.newIdempotencyKey(),
    describe: (it) => `the redemption is ${it.status}, the voucher ${it.voucher.status}`,
  })
  const again = await look('Verified again')
  if (!again.redeemable) throw unexpected('The voucher is not redeemable after its reversal.')
}

/** Repeats a call over the encrypted transport and shows the bytes that an eavesdropper would see. */
async function showEncryptedCall(walkthrough: Walkthrough, credential: Credential): Promise<void> {
  const secrets = [credential.value, walkthrough.credentials.get('token') ?? '']
  const wire = watchWire([...secrets, vouchers.verify.path])
  await walkthrough.run(vouchers.verify, {
    title: 'Verified once more, through the encrypted transport',
    command: `voucherctl vouchers verify --code ${credential.value} --secure required`,
    input: { credential },
    through: (transport) => withSecure(wire.around(transport), { mode: 'required' }),
    describe: (verified) =>
      `${verified.redeemable ? 'redeemable' : `not redeemable: ${verified.reason}`}; on the wire: ${wire.summary()}, with neither path nor token nor code in them`,
  })
  if (wire.readable()) throw unexpected('Something of the encrypted call could be read on the wire.')
}

/** Wraps a transport to record the bytes that an eavesdropper would see. */
function watchWire(secrets: readonly string[]) {
  const seen: string[] = []
  let last = ''
  return {
    around:
      (transport: Transport): Transport =>
      async (request) => {
        const response = await transport(request)
        const { method, path, headers, body = '' } = request
        seen.push(JSON.stringify([method, path, headers, body, response.headers, response.body]))
        last = `${method} ${path}, ${Buffer.byteLength(body)} bytes and ${Buffer.byteLength(response.body)} back`
        return response
      },
    /** Describes the last request, such as `POST /api/v1/secure/dispatch, 612 bytes and 1034 back`. */
    summary: () => last,
    /** True if a request contained one of the secrets as plain text. */
    readable: () => seen.some((text) => secrets.some((it) => it !== '' && text.includes(it))),
  }
}
