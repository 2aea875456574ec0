import { type CredentialKind, scopes } from '../contract/endpoint.js'
import { type FailureCode, isFailureCode } from '../contract/errors.js'
import { shellWord } from './host/shell.js'
import { suggested } from './output/suggestions.js'

/** Codes of failed calls that no server sends: of the client, and of the encrypted transport. */
type ClientCode =
  | 'NETWORK_ERROR'
  | 'TIMEOUT'
  | 'INVALID_RESPONSE'
  | 'SECURE_BOOTSTRAP_INVALID'
  | 'SECURE_SESSION_INVALID'
  | 'SECURE_PIN_MISMATCH'
  | 'SECURE_ANSWER_INVALID'
  | 'SECURE_ANSWER_REFUSED'
  | 'SECURE_PLAIN_REFUSED'
  | 'CREDENTIAL_UNENCRYPTED'

/** Hint for a response that does not come from a voucher service. */
export const NOT_A_VOUCHER_SERVICE =
  'Check the base URL (`voucherctl profile show --explain`), and what stands between: the login page of a network, a proxy.'
const WALK = '`voucherctl secure check` walks through the protocol step by step.'
const UPDATE = `A newer voucherctl may be needed. ${WALK}`
const REPORT = 'Report the request id to the operator of the server'
const NEW_CREDENTIAL =
  'Store a new one: `voucherctl tokens create --save` for an application, `voucherctl bots regenerate-token --save` for a bot, `voucherctl login` for an account.'

/** What a user of the command line can do, by failure code. The advice of the failure table is for authors of clients. */
export const advice: Readonly<Record<FailureCode | ClientCode, string>> = {
  NETWORK_ERROR: 'Check the base URL (`voucherctl profile show --explain`) and that the server runs.',
  TIMEOUT: 'Give it more time with --timeout 60s, or check the server.',
  INVALID_RESPONSE: NOT_A_VOUCHER_SERVICE,
  SECURE_BOOTSTRAP_INVALID: `Nothing was sent. ${WALK}`,
  SECURE_SESSION_INVALID: `Nothing was sent. ${WALK}`,
  SECURE_PIN_MISMATCH:
    'Nothing was sent. Ask the operator for the pin of the current key; `voucherctl secure pin` shows the one that is served.',
  SECURE_ANSWER_INVALID: WALK,
  SECURE_ANSWER_REFUSED: 'Check the base URL, and what stands between; `voucherctl secure check` shows each step.',
  SECURE_PLAIN_REFUSED: 'Use an https base URL for it.',
  CREDENTIAL_UNENCRYPTED:
    'Nothing was sent. Use an https base URL (--base-url, or `voucherctl profiles set` to store it), or --secure required.',

  INVALID_JSON: 'Give one JSON object, UTF-8, nested at most 16 levels.',
  VALIDATION_FAILED: 'Correct each value that is named above.',
  IDEMPOTENCY_KEY_REQUIRED: 'Give a key that is unique for this business action with --idempotency-key.',
  IDEMPOTENCY_KEY_INVALID: 'Give --idempotency-key 1 to 255 visible ASCII characters without spaces.',
  OFFSET_IN_FUTURE: 'Read from the first update: `voucherctl bots updates`.',
  CHAT_NOT_PRIVATE: 'Use the private chat of the user with this bot.',
  WEBHOOK_URL_REFUSED:
    'Use an https URL of a public host, port 443, 8443 or from 1024. For a receiver on this machine: `voucherctl webhook bridge --help`.',

  SECURE_ENVELOPE_INVALID: UPDATE,
  SECURE_VERSION_UNSUPPORTED: 'Nothing was sent. Update the older of the two.',
  REQUEST_TIMESTAMP_OUT_OF_RANGE:
    'Set the clock of this machine; 60 s are allowed either way. `voucherctl doctor` compares the two.',
  DECRYPTION_FAILED: `Repeat it. If it fails again: ${WALK}`,
  SECURE_PUBLIC_KEY_INVALID: UPDATE,
  SECURE_REQUEST_INVALID: UPDATE,

  TOKEN_MISSING:
    'Give a credential with --token-file PATH, in its environment variable, or store one: `voucherctl login`.',
  TOKEN_INVALID: `Check that the whole value was copied and belongs to this server. ${NEW_CREDENTIAL}`,
  TOKEN_EXPIRED: NEW_CREDENTIAL,
  TOKEN_REVOKED: NEW_CREDENTIAL,
  TOKEN_TYPE_NOT_ACCEPTED: '`voucherctl whoami` shows the credentials at hand and their kinds.',

  PAGE_SESSION_REQUIRED:
    'Open the page again: `voucherctl open`, or `voucherctl webhook listen --open` for a listener.',
  HOST_NOT_ALLOWED:
    'Name the server as it names itself, with its own port: `voucherctl server list` shows its URL. A proxy or a forwarded port must keep this name.',
  CROSS_SITE_REQUEST: 'Open the page again: `voucherctl open`. A program sends the operator key and no Origin.',
  RESET_NOT_ALLOWED: 'Start the server with `voucherctl server start --allow-reset` and its other flags.',
  APPLICATION_DISABLED:
    'Its owner enables a disabled application with `voucherctl apps update --status active`; the platform lifts a suspension, on a local server `voucherctl platform apps reinstate`.',
  FEATURE_UNAVAILABLE:
    'Ask the platform for the vouchers feature; on a local server: `voucherctl platform apps features --feature vouchers`.',
  INSUFFICIENT_SCOPE:
    'Create a token with this scope: `voucherctl tokens create --save`. A bot gets its scopes when it is applied for: `voucherctl bots apply --help`.',
  ORIGIN_NOT_ALLOWED:
    'Give an --origin that the application allows. `voucherctl apps get` lists them, `voucherctl apps update` with --allowed-origin replaces them.',
  SECURE_ORIGIN_NOT_ALLOWED: 'Leave --origin out, or give one that the server allows.',
  SECURE_SESSION_ORIGIN_MISMATCH: `Repeat it. If it fails again: ${WALK}`,
  SECURE_TRANSPORT_DISABLED: 'Nothing was sent. Only with --secure off does the call go in plain text.',
  BOT_DISABLED: 'Only the platform enables it again; on a local server: `voucherctl platform bots enable`.',
  BOT_NOT_LINKED: 'Link it to an application of the same account: `voucherctl apps link-bot`.',
  BOT_BLOCKED: 'Only the user can lift the block; on a local server: `voucherctl platform users unblock`.',

  ROUTE_NOT_FOUND:
    'Check the base URL (`voucherctl profile show --explain`) and the path; `voucherctl api routes` lists the routes of a voucher service.',
  APPLICATION_NOT_FOUND: 'The applications of the account: `voucherctl apps list`.',
  TOKEN_NOT_FOUND: 'The tokens of an application: `voucherctl tokens list`.',
  TEMPLATE_NOT_FOUND: 'The templates of the application: `voucherctl templates list`.',
  VOUCHER_NOT_FOUND:
    'Scan or type the code again. A token finds vouchers of its own application only: `voucherctl whoami`. `voucherctl platform vouchers list` shows all of a local server.',
  REDEMPTION_NOT_FOUND:
    'Use the id that the redemption printed; `voucherctl vouchers verify` shows it for a redeemed voucher.',
  BOT_NOT_FOUND: 'The bots of the account: `voucherctl bots list`.',
  CHAT_NOT_FOUND:
    'Use a chat that a user has started with this bot; on a local server: `voucherctl platform chats list`.',
  FAULT_NOT_FOUND: 'List them with `voucherctl platform faults list`.',
  DELIVERY_NOT_FOUND: 'The deliveries of a bot: `voucherctl webhook deliveries`.',
  SNAPSHOT_NOT_FOUND: 'The snapshots of the server: `voucherctl platform snapshots list`.',
  METHOD_NOT_ALLOWED: '`voucherctl api routes` lists the methods of each path.',

  APPLICATION_LIMIT_REACHED: 'Reuse one of `voucherctl apps list`; applications cannot be deleted.',
  TOKEN_LIMIT_REACHED: 'Revoke one that is no longer used: `voucherctl tokens list`, then `voucherctl tokens revoke`.',
  EXTERNAL_TEMPLATE_ID_EXISTS: 'Use the template that has it, or another --external-id: `voucherctl templates list`.',
  TEMPLATE_STATE_CONFLICT:
    'Read its status with `voucherctl templates list`; only draft and rejected templates are submitted, only reviewing ones decided.',
  TEMPLATE_NOT_ACTIVE:
    'Submit it and wait for the approval: `voucherctl templates submit`; on a local server: `voucherctl platform templates approve`.',
  TEMPLATE_VALIDITY_ENDED: 'Create a template with a later validity: `voucherctl templates create`.',
  TEMPLATE_QUOTA_EXHAUSTED: 'Create another template: `voucherctl templates create`. Quota is never given back.',
  EXTERNAL_ISSUE_ID_CONFLICT: 'Give each issuance an --external-id of its own.',
  VOUCHER_ALREADY_REDEEMED: 'Nothing was redeemed. `voucherctl vouchers reverse` takes a redemption back.',
  VOUCHER_EXPIRED: 'Issue a new one if the benefit is still due: `voucherctl vouchers issue`.',
  VOUCHER_NOT_YET_VALID: 'Redeem it once it is valid.',
  RECIPIENT_MISMATCH: 'Check who presents it: --recipient must be the user to whom it was issued.',
  REDEMPTION_ALREADY_REVERSED: 'There is nothing to do.',
  REVERSAL_WINDOW_CLOSED: 'A redemption can be reversed for 90 days. Issue a new voucher if the benefit is due again.',
  IDEMPOTENCY_KEY_REUSED: 'Leave --idempotency-key out for a new action; with it, repeat the first command unchanged.',
  IDEMPOTENCY_KEY_IN_PROGRESS: 'Repeat the same command with the same --idempotency-key.',
  BOT_LIMIT_REACHED: 'Reuse one of `voucherctl bots list`.',
  USERNAME_TAKEN: 'Choose another --username.',
  BOT_NOT_APPROVED:
    'Wait for the review, or apply again after a rejection: `voucherctl bots apply`; on a local server: `voucherctl platform bots approve`.',
  BOT_STATE_CONFLICT: 'Read its review_status and status with `voucherctl bots get`; only pending bots are decided.',
  BOT_ALREADY_LINKED: 'Unlink it from the other application first: `voucherctl apps unlink-bot`.',
  WEBHOOK_ACTIVE:
    'Delete the webhook to poll: `voucherctl webhook delete`. Its updates: `voucherctl webhook deliveries`.',
  POLLING_ACTIVE: 'End the `voucherctl bots updates` that runs, or the program that polls, then set the webhook.',
  POLL_TERMINATED: 'Run one poller for each bot.',
  DELIVERY_NOT_REPLAYABLE:
    'Its bot needs a webhook and must be enabled. For a delivery without an attempt use --resign, for deleted bytes --body-file.',
  DELIVERY_NOT_RETRYABLE:
    'Only failed and dead_letter deliveries are retried, delivered ones with --force, and only while a webhook is set: `voucherctl webhook deliveries`.',
  SECURE_SESSION_EXPIRED: 'Repeat it: the next call negotiates a new session.',
  SECURE_SESSION_MISMATCH: 'Repeat it: the next call negotiates a new session.',
  REQUEST_REPLAYED:
    'Repeat it: each call is encrypted anew. If it fails again, something between sends requests twice.',
  SNAPSHOT_OUTDATED: 'Remove it and save another one: `voucherctl platform snapshots list`.',
  SNAPSHOTS_DAMAGED:
    'Delete the file of the snapshot in voucherctl.db.snapshots of the data folder: `voucherctl server status`.',
  DATABASE_SHARED: 'Stop the other servers of the database, or accept that they change too, and repeat with --yes.',
  PAGE_OFF: 'Start the server on this machine only, without --host: `voucherctl server start`.',
  TEST_CLOCK_OFF: 'Start the server with a test clock: `voucherctl server start --test-clock`.',

  PAYLOAD_TOO_LARGE: 'Send less: at most 64 KiB, as the bytes of a replay 1 MiB.',
  SECURE_ENVELOPE_TOO_LARGE: 'Send less, at most 262,144 bytes encrypted, or use --secure off if the server allows it.',
  UNSUPPORTED_MEDIA_TYPE: 'Check what stands between: a proxy may have changed the Content-Type header.',
  SECURE_TRANSPORT_REQUIRED:
    'Repeat it with --secure required; `voucherctl profiles set --secure required` stores that.',
  RATE_LIMITED: 'Repeat it later; --retries N lets the command wait for longer.',
  CREDENTIAL_ATTEMPTS_EXCEEDED: 'Wait before you try unknown codes again; known codes are still accepted.',
  INTERNAL_ERROR: `${REPORT}.`,
  SERVICE_UNAVAILABLE: `Repeat it later. If it goes on: ${REPORT.charAt(0).toLowerCase()}${REPORT.slice(1)}.`,
}

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
const withIds: Readonly<Partial<Record<string, (id: Ids) => string | undefined>>> = {
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
  // Look up own members only, because a server may send any code, even `constructor`.
  if (!isFailureCode(code) && !Object.hasOwn(advice, code)) return null
  const known = Object.hasOwn(withIds, code) ? withIds[code] : undefined
  const id = (name: string) => {
    const value = Object.hasOwn(details, name) ? details[name] : input[name]
    return (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value) : undefined
  }
  return (credential && afterRefusal(code, credential)) ?? known?.(id) ?? advice[code as keyof typeof advice]
}
