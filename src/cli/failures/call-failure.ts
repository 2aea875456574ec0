import type { CallFailure } from '../../client/result.js'
import { readRetryAfter } from '../../client/retry.js'
import { type CredentialKind, scopes } from '../../contract/endpoint.js'
import { type FailureCode, failures, isFailureCode } from '../../contract/errors.js'
import { updateTypes } from '../../contract/updates.js'
import { shellWord } from '../../values/shell-word.js'
import type { Failure } from './failure.js'
import { idAsCode, missingId } from './ids.js'
import { type LocalCode, localFailures } from './local-failures.js'

export interface CallFacts {
  /** A command that shows whether the change took place. */
  readonly check?: string | undefined
  readonly input?: Readonly<Record<string, unknown>>
  /** Credential of the call; in words its kind, first characters, source and server. */
  readonly credential?: (UsedCredential & { readonly text: string }) | undefined
}

export function fromCall(failure: CallFailure, { check, input = {}, credential }: CallFacts = {}): Failure {
  const { code, message, status, retryable, requestId, details, outcomeUnknown, idempotencyKey } = failure
  const repeat = repeatHint(outcomeUnknown, idempotencyKey, check)
  const keyed = idempotencyKey !== undefined && (outcomeUnknown || codesWithoutResponse.includes(code))
  const isDenied = (status === 401 || status === 403) && credential !== undefined
  const missing =
    status === 404 ? missingId(code, input) : code === 'VALIDATION_FAILED' ? idAsCode(input.credential) : undefined
  const about = [...(isDenied ? [`credential: ${credential.text}`] : []), ...(missing === undefined ? [] : [missing])]
  return {
    ok: false,
    code,
    // Add the full stop that messages of transport errors lack.
    message: status === 0 || code === 'INVALID_RESPONSE' ? message.replace(/\.?$/, '.') : message,
    status: status === 0 ? null : status,
    retryable,
    hint:
      outcomeUnknown || keyed
        ? code === 'INVALID_RESPONSE'
          ? `${localFailures.INVALID_RESPONSE.fix} ${repeat}`
          : repeat
        : withWait(adviceFor(code, { details, input, credential }), failure),
    requestId,
    details: keyed ? { ...details, idempotency_key: idempotencyKey } : details,
    ...(about.length === 0 ? {} : { about }),
  }
}

const codesWithoutResponse: readonly string[] = ['NETWORK_ERROR', 'TIMEOUT', 'ABORTED']

/** Adds the wait from Retry-After to a hint. A date counts only with a Date header, which has the server's time. */
function withWait(hint: string | null, { headers }: CallFailure): string | null {
  const waitMs = readRetryAfter(headers, () => Number.NaN)
  if (waitMs === null) return hint
  const wait = `The server asks to wait ${Math.ceil(waitMs / 1000)} s.`
  return hint === null ? wait : `${hint} ${wait}`
}

function repeatHint(outcomeUnknown: boolean, idempotencyKey: string | undefined, check: string | undefined): string {
  const doubt = outcomeUnknown ? 'It may have been done all the same. ' : ''
  if (idempotencyKey !== undefined)
    return `${doubt}Repeat the same command with --idempotency-key ${idempotencyKey}: it is done once at most.`
  return check === undefined
    ? `${doubt}Check before you repeat it.`
    : `${doubt}Check with ${check} before you repeat it.`
}

/** Codes of failed calls that no server sends: of the client, and of the encrypted transport. */
const clientCodes = [
  'NETWORK_ERROR',
  'CERTIFICATE_UNTRUSTED',
  'TIMEOUT',
  'INVALID_RESPONSE',
  'SECURE_BOOTSTRAP_INVALID',
  'SECURE_SESSION_INVALID',
  'SECURE_PIN_MISMATCH',
  'SECURE_ANSWER_INVALID',
  'SECURE_ANSWER_REFUSED',
  'SECURE_PLAIN_REFUSED',
  'CREDENTIAL_UNENCRYPTED',
  'PROXY_INVALID',
] as const satisfies readonly LocalCode[]

/** Members that a call sent, and details that the server returned; their ids complete suggested commands. */
interface Facts {
  readonly details: Readonly<Record<string, unknown>>
  readonly input: Readonly<Record<string, unknown>>
  readonly credential?: UsedCredential | undefined
}

/** Kind of the credential that a call sent, and its source: a variable, a file or a profile. */
export interface UsedCredential {
  readonly kind: CredentialKind
  readonly source: string | undefined
  /** Application and scopes of an application token, if they were found. */
  readonly owner?: { readonly appId: string; readonly scopes: readonly unknown[] } | undefined
}

const newCredential: Readonly<Record<CredentialKind, string>> = {
  token: 'Create a new one and store it: `voucherctl tokens create --save`.',
  bot: 'Create a new one and store it: `voucherctl bots regenerate-token --save`.',
  jwt: 'Log in again: `voucherctl login`.',
  operator: "It is in operator.key of the server's data folder.",
}

/** Hint for a credential that the server refused: correct its source, or store a new credential. */
function afterRefusal(code: string, { kind, source = '' }: UsedCredential): string | undefined {
  if (code !== 'TOKEN_INVALID' && code !== 'TOKEN_EXPIRED' && code !== 'TOKEN_REVOKED') return undefined
  const copied = code === 'TOKEN_INVALID' ? 'Check that the whole value was copied and belongs to this server. ' : ''
  const isVariable = source.startsWith('VOUCHERCTL_')
  return `${copied}${isVariable ? `${source} wins over the profile: correct it or unset it. ` : ''}${newCredential[kind]}`
}

/** Proposes a token with all scopes of the present one: `--save` replaces it. */
function wider(id: Ids, { kind, source = '', owner }: Partial<UsedCredential> = {}): string {
  const missing = scopes.find((it) => it === id('required_scope'))
  if (missing === undefined || (kind !== undefined && kind !== 'token'))
    return `It needs the scope {required_scope}. The scopes of a bot are chosen when you apply for it: \`voucherctl bots apply --help\`.`
  const wins = source.startsWith('VOUCHERCTL_') ? ` ${source} wins over the profile: unset it then.` : ''
  const all = scopes.filter((it) => it === missing || owner?.scopes.includes(it)).map((it) => ` --scope ${it}`)
  return all.length === 1
    ? `Create a token with ${missing} and the scopes that the present one has, which \`voucherctl doctor\` shows: \`voucherctl tokens create --help\`.${wins}`
    : `Create a token that also has ${missing}: \`voucherctl tokens create --app {appId}${all.join('')} --save\`.${wins}`
}

type Ids = (name: string) => string | undefined
type Hint = string | ((id: Ids, used?: UsedCredential) => string | undefined)

/** Hint for an update type that the allowed_updates of a bot leave out. */
export const leftOut = (type: string | undefined): string | undefined =>
  type &&
  `The allowed_updates of the bot leave out ${type}. \`voucherctl bots updates --allowed-update ${type}\` chooses only that; repeat the flag for others. With a webhook: \`voucherctl webhook set --help\`.`

/** Port that a URL names, else the default one of `webhook listen`. */
const portIn = (url = '') => /^http:\/\/[^/:@]+:(\d+)/.exec(url)?.[1] ?? '8787'

/** Hints by code, or functions that choose one. Text in braces stands for a member of the response or the call. */
const withIds: Readonly<Partial<Record<FailureCode, Hint>>> = {
  OFFSET_IN_FUTURE: 'The next update has {next_offset}: `voucherctl bots updates --offset {next_offset}`.',
  INSUFFICIENT_SCOPE: wider,
  APPLICATION_DISABLED: (id) =>
    id('status') === 'suspended'
      ? 'The platform lifts the suspension of {appId}; on a local server: `voucherctl platform apps reinstate {appId}`.'
      : 'Its owner enables {appId}: `voucherctl apps update {appId} --status active`.',
  TOKEN_NOT_FOUND: 'The tokens of this application: `voucherctl tokens list --app {appId}`.',
  // Only the operator uses a delivery id without a bot id.
  DELIVERY_NOT_FOUND: (id) =>
    id('botId') === undefined
      ? id('deliveryId') && 'The deliveries of this server: `voucherctl platform deliveries list`.'
      : 'The deliveries of this bot: `voucherctl webhook deliveries {botId}`.',
  VOUCHER_ALREADY_REDEEMED:
    'Who redeemed it: `voucherctl vouchers redemption {redemption_id}`; to take that back: `voucherctl vouchers reverse {redemption_id}`.',
  VOUCHER_NOT_YET_VALID: 'Redeem it at or after {valid_from}.',
  EXTERNAL_TEMPLATE_ID_EXISTS:
    'Use the template that has it, or another --external-id: `voucherctl templates list --external-id {external_template_id}`.',
  TEMPLATE_STATE_CONFLICT: (id) =>
    id('status') === 'reviewing'
      ? 'It is under review already. On a local server you decide: `voucherctl platform templates approve {templateId}`.'
      : undefined,
  WEBHOOK_URL_REFUSED: (id) =>
    id('reason') === 'scheme'
      ? `The URL must begin with https://. A server on this machine also accepts http://127.0.0.1:${portIn(id('url'))}, once it is stopped (\`voucherctl server stop\`) and started with \`voucherctl server start --dev-webhook-loopback ${portIn(id('url'))}\`.`
      : id('reason') === 'not_loopback'
        ? 'This temporary server delivers only on this machine: use http://127.0.0.1:PORT.'
        : undefined,
  TEMPLATE_NOT_ACTIVE: (id) =>
    id('status') === 'reviewing'
      ? 'Wait for its approval; on a local server you decide: `voucherctl platform templates approve {template_id}`.'
      : 'Submit it: `voucherctl templates submit {template_id}`. On a local server you decide then: `voucherctl platform templates approve {template_id}`.',
  BOT_ALREADY_LINKED: 'Unlink it first: `voucherctl apps unlink-bot {application_id} --bot {botId}`.',
  BOT_DISABLED: 'Only the platform enables it again; on a local server: `voucherctl platform bots enable {bot_id}`.',
  BOT_BLOCKED: 'Only the user can lift the block; on a local server: `voucherctl platform users unblock {chat_id}`.',
  WEBHOOK_ACTIVE:
    'Delete the webhook to poll: `voucherctl webhook delete {bot_id}`. Its updates: `voucherctl webhook deliveries {bot_id}`.',
  BOT_NOT_APPROVED:
    'See its review: `voucherctl bots get {botId}`; on a local server you decide: `voucherctl platform bots approve {botId}`.',
  BOT_STATE_CONFLICT: (id) =>
    leftOut(updateTypes.find((it) => it === id('type'))) ??
    'Its review_status and status: `voucherctl bots get {botId}`.',
  // Only the operator uses the id of a voucher; others use its code.
  VOUCHER_NOT_FOUND: (id) => id('voucherId') && 'The vouchers of this server: `voucherctl platform vouchers list`.',
  // A server may send any path, so suggest deletion only of a file with this name.
  SNAPSHOTS_DAMAGED: (id) =>
    /[/\\]voucherctl\.db\.snapshots([/\\][0-9a-f]+\.db)?$/.test(id('file') ?? '')
      ? 'Delete the file on the machine of the server, which may continue to run; its snapshot is lost: `rm {file}`.'
      : undefined,
  DELIVERY_NOT_RETRYABLE:
    'Only failed and dead_letter deliveries are retried, delivered ones with --force, and only while a webhook is set: `voucherctl webhook deliveries {botId}`.',
}

/** Inserts members into a hint, quoted for a shell inside a command; undefined if a member is missing. */
function filled(hint: string | undefined, id: Ids): string | undefined {
  const member = /\{(\w+)\}/g
  if ([...(hint ?? '').matchAll(member)].some(([, name = '']) => id(name) === undefined)) return undefined
  const fill = (text: string, quote: (value: string) => string) =>
    text.replaceAll(member, (_, name: string) => quote(id(name) ?? ''))
  return hint?.replaceAll(/`[^`]*`|[^`]+/g, (part) => fill(part, part.startsWith('`') ? shellWord : String))
}

/** Hint for a person whose call failed; null for an unknown code. */
export function adviceFor(code: string, { details, input, credential }: Facts): string | null {
  if (!isFailureCode(code)) {
    const known = clientCodes.find((it) => it === code)
    return known === undefined ? null : localFailures[known].fix
  }
  const id = (name: string) => {
    const value = Object.hasOwn(details, name) ? details[name] : input[name]
    return (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined
  }
  const known = withIds[code]
  const hint = typeof known === 'function' ? known(id, credential) : known
  return (credential && afterRefusal(code, credential)) ?? filled(hint, id) ?? failures[code].cliFix
}
