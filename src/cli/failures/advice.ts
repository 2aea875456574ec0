import { type CredentialKind, scopes } from '../../contract/endpoint.js'
import { type FailureCode, failures, isFailureCode } from '../../contract/errors.js'
import { shellWord } from '../../contract/values/shell-word.js'
import { suggested } from './failure.js'
import { type LocalCode, localFailures } from './local-failures.js'

/** Codes of failed calls that no server sends: of the client, and of the encrypted transport. */
const clientCodes = [
  'NETWORK_ERROR',
  'TIMEOUT',
  'INVALID_RESPONSE',
  'SECURE_BOOTSTRAP_INVALID',
  'SECURE_SESSION_INVALID',
  'SECURE_PIN_MISMATCH',
  'SECURE_ANSWER_INVALID',
  'SECURE_ANSWER_REFUSED',
  'SECURE_PLAIN_REFUSED',
  'CREDENTIAL_UNENCRYPTED',
] as const satisfies readonly LocalCode[]

/** The members that a call sent and the details that the server returned, whose ids complete a command. */
interface Facts {
  readonly details: Readonly<Record<string, unknown>>
  readonly input: Readonly<Record<string, unknown>>
  readonly credential?: UsedCredential | undefined
}

/** The kind of a credential that a call sent, and where it came from: a variable, a file, a profile. */
export interface UsedCredential {
  readonly kind: CredentialKind
  readonly source: string | undefined
}

const newCredential: Readonly<Record<CredentialKind, string>> = {
  token: 'Create a new one and store it: `voucherctl tokens create --save`.',
  bot: 'Create a new one and store it: `voucherctl bots regenerate-token --save`.',
  jwt: 'Log in again: `voucherctl login`.',
  operator: "It is in operator.key of the server's data folder.",
}

/** Hint for a credential that the server refused: correct what holds it, or store a new one. */
function afterRefusal(code: string, { kind, source = '' }: UsedCredential): string | undefined {
  if (code !== 'TOKEN_INVALID' && code !== 'TOKEN_EXPIRED' && code !== 'TOKEN_REVOKED') return undefined
  const copied = code === 'TOKEN_INVALID' ? 'Check that the whole value was copied and belongs to this server. ' : ''
  const isVariable = source.startsWith('VOUCHERCTL_')
  return `${copied}${isVariable ? `${source} wins over the profile: correct it or unset it. ` : ''}${newCredential[kind]}`
}

type Ids = (name: string) => string | undefined

/** Hints with the ids of the call; undefined if the call or the response lacks one. */
const withIds: Readonly<Partial<Record<FailureCode, (id: Ids) => string | undefined>>> = {
  OFFSET_IN_FUTURE: (id) =>
    join(id('next_offset'), (it) => `The next update has ${it}: ${suggested`bots updates --offset ${it}`}.`),
  INSUFFICIENT_SCOPE: (id) =>
    join(id('required_scope'), (scope) =>
      (scopes as readonly string[]).includes(scope)
        ? `Create a token with the scope ${scope}: ${suggested`tokens create --scope ${scope} --save`}. A bot gets its scopes when it is applied for.`
        : `It needs the scope ${scope}, which a bot gets when it is applied for: \`voucherctl bots apply --help\`.`,
    ),
  TOKEN_NOT_FOUND: (id) =>
    join(id('appId'), (it) => `The tokens of this application: ${suggested`tokens list --app ${it}`}.`),
  // Only the operator names a delivery without its bot.
  DELIVERY_NOT_FOUND: (id) =>
    join(id('botId'), (it) => `The deliveries of this bot: ${suggested`webhook deliveries ${it}`}.`) ??
    join(id('deliveryId'), () => `The deliveries of this server: ${suggested`platform deliveries list`}.`),
  VOUCHER_ALREADY_REDEEMED: (id) =>
    join(
      id('redemption_id'),
      (it) =>
        `Who redeemed it: ${suggested`vouchers redemption ${it}`}; to take that back: ${suggested`vouchers reverse ${it}`}.`,
    ),
  VOUCHER_NOT_YET_VALID: (id) => join(id('valid_from'), (it) => `Redeem it at or after ${it}.`),
  EXTERNAL_TEMPLATE_ID_EXISTS: (id) =>
    join(
      id('external_template_id'),
      (it) =>
        `Use the template that has it, or another --external-id: ${suggested`templates list --external-id ${it}`}.`,
    ),
  TEMPLATE_NOT_ACTIVE: (id) =>
    join(id('template_id'), (it) =>
      id('status') === 'reviewing'
        ? `Wait for its approval; on a local server you decide: ${suggested`platform templates approve ${it}`}.`
        : `Submit it: ${suggested`templates submit ${it}`}. On a local server you decide then: ${suggested`platform templates approve ${it}`}.`,
    ),
  BOT_ALREADY_LINKED: (id) => {
    const [app, bot] = [id('application_id'), id('botId')]
    return app && bot && `Unlink it first: ${suggested`apps unlink-bot ${app} --bot ${bot}`}.`
  },
  BOT_NOT_APPROVED: (id) =>
    join(
      id('botId'),
      (it) =>
        `See its review: ${suggested`bots get ${it}`}; on a local server you decide: ${suggested`platform bots approve ${it}`}.`,
    ),
  BOT_STATE_CONFLICT: (id) => join(id('botId'), (it) => `Its review_status and status: ${suggested`bots get ${it}`}.`),
  // Only the operator names a voucher by its id; all others by its code.
  VOUCHER_NOT_FOUND: (id) =>
    join(id('voucherId'), () => `The vouchers of this server: ${suggested`platform vouchers list`}.`),
  // A server may send any path: suggest a deletion only of a file of this name.
  SNAPSHOTS_DAMAGED: (id) =>
    join(id('file'), (it) =>
      /[/\\]voucherctl\.db\.snapshots([/\\][0-9a-f]+\.db)?$/.test(it)
        ? `Delete the file on the machine of the server, which may continue to run; its snapshot is lost: \`rm ${shellWord(it)}\`.`
        : undefined,
    ),
  DELIVERY_NOT_RETRYABLE: (id) =>
    join(
      id('botId'),
      (it) =>
        `Only failed and dead_letter deliveries are retried, delivered ones with --force, and only while a webhook is set: ${suggested`webhook deliveries ${it}`}.`,
    ),
}

const join = (value: string | undefined, write: (value: string) => string | undefined) =>
  value === undefined ? undefined : write(value)

/** Hint for a person whose call failed; null for a code that is not known. */
export function adviceFor(code: string, { details, input, credential }: Facts): string | null {
  if (!isFailureCode(code)) {
    const known = clientCodes.find((it) => it === code)
    return known === undefined ? null : localFailures[known].fix
  }
  const id = (name: string) => {
    const value = Object.hasOwn(details, name) ? details[name] : input[name]
    return (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined
  }
  return (credential && afterRefusal(code, credential)) ?? withIds[code]?.(id) ?? failures[code].cliFix
}
