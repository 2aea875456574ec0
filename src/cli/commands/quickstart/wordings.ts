import { apps } from '../../../contract/apps.js'
import { bots } from '../../../contract/bots.js'
import type { Endpoint, OutputOf } from '../../../contract/endpoint.js'
import { platform } from '../../../contract/platform/platform.js'
import { redact } from '../../../contract/secrets.js'
import { templates } from '../../../contract/templates.js'
import { tokens } from '../../../contract/tokens.js'
import { type Verification, vouchers } from '../../../contract/vouchers.js'
import { webhook } from '../../../contract/webhook.js'
import { describeJwt } from '../../host/secrets.js'
import { credentialOf } from '../vouchers/issue.js'

interface Wording {
  /** Describes the response in a sentence. */
  readonly result: (data: unknown, replayed: boolean) => string
  /** Flags of the command that no member of the call supplies. */
  readonly flags: string
}

const wording = <E extends Endpoint>(
  { id }: E,
  result: (data: OutputOf<E>, replayed: boolean) => string,
  flags = '',
): [string, Wording] => [id, { result: (data, replayed) => result(data as OutputOf<E>, replayed), flags }]

const redeemable = (it: Verification) => (it.redeemable ? 'redeemable' : `not redeemable: ${it.reason}`)

/** Wordings of the calls in the scenario, by the id of the endpoint. */
export const wordings: ReadonlyMap<string, Wording> = new Map([
  wording(
    platform.issueAccountToken,
    (it) => `account ${describeJwt(it.jwt).account}, with a JWT until ${it.expires_at}`,
  ),
  wording(apps.create, (it) => `${it.id}, ${it.status}`),
  wording(tokens.create, (it) => `${redact(it.token)}, shown once, with ${it.scopes.length} scopes`, '--save'),
  wording(templates.create, (it) => `${it.id}, ${it.status}: ${it.issueLimit} vouchers at most, 30 days each`),
  wording(templates.submit, (it) => `the template is ${it.status}`),
  wording(platform.approveTemplate, (it) => `the template is ${it.status}: it can be issued`),
  wording(
    vouchers.issue,
    (it) => `redeem code ${credentialOf(it, 'redeem_code')}, valid until ${it.validUntil}`,
    '--qr',
  ),
  wording(vouchers.verify, redeemable),
  wording(vouchers.redeem, (it, replayed) =>
    replayed ? `the same redemption ${it.id}, replayed` : `redemption ${it.id}`,
  ),
  wording(vouchers.reverse, (it) => `the redemption is ${it.status}, the voucher ${it.voucher.status}`),
  wording(bots.apply, (it) => `${it.id}, ${it.review_status}`),
  wording(platform.approveBot, (it) => `the bot is ${it.status}`),
  wording(bots.get, (it) => `${redact(it.one_time_token ?? '')}, with ${it.scopes.length} scopes`, '--save'),
  wording(apps.linkBot, (it) => `${it.name} delivers through ${it.linkedBots.map((one) => one.username).join(', ')}`),
  wording(webhook.set, (it) => `${it.delivery_mode}, every delivery signed`, '--secret-file secret.txt'),
  wording(platform.createChat, (it) => `${it.id}, ${it.type}`),
  wording(
    bots.issue,
    (it) => `redeem code ${credentialOf(it, 'redeem_code')}, message ${it.delivery?.message_id} of the chat`,
  ),
  wording(webhook.delete, (it) => `the bot is in ${it.delivery_mode} mode`, '--yes'),
])
