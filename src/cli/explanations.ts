import { type FailureCode, failures, isFailureCode } from '../contract/errors.js'
import { advice } from './advice.js'
import { exitOf, isLocalCode, type LocalCode, localFailures } from './exit.js'
import { suggestionsOf } from './output/suggestions.js'
import { wrap } from './output/wrap.js'

type Environment = Readonly<Record<string, string | undefined>>

/** What causes each failure of a server. */
const causes: Readonly<Record<FailureCode, string>> = {
  INVALID_JSON: 'The body is no JSON, no UTF-8, no object, or nested deeper than 16 levels.',
  VALIDATION_FAILED: 'A value is missing, unknown, malformed or out of its range.',
  IDEMPOTENCY_KEY_REQUIRED:
    'Issue, redeem and reverse need the header; voucherctl always sends it, so something between removed it.',
  IDEMPOTENCY_KEY_INVALID: 'The header was sent twice, is empty, too long, or holds spaces or other characters.',
  OFFSET_IN_FUTURE: 'The offset came from another bot or another server, or the updates of the server were reset.',
  CHAT_NOT_PRIVATE: 'The chat is a group.',
  WEBHOOK_URL_REFUSED: 'The URL is plain http, its host is private, local or unknown, or its port is not allowed.',
  SECURE_ENVELOPE_INVALID: 'Client and server differ in their protocol, or something between changed the request.',
  SECURE_VERSION_UNSUPPORTED: 'Client and server share no version or suite of the encrypted transport.',
  REQUEST_TIMESTAMP_OUT_OF_RANGE:
    'The clock of this machine or of the server is wrong, or the request was held back for more than 60 s.',
  DECRYPTION_FAILED: 'The keys of the server changed, or something between changed the request.',
  SECURE_PUBLIC_KEY_INVALID: 'Client and server differ in their protocol.',
  SECURE_REQUEST_INVALID: 'Client and server differ in their protocol, or in the routes that may be called encrypted.',
  TOKEN_MISSING: 'The call was made without a credential, or something between removed the Authorization header.',
  TOKEN_INVALID: 'It was cut when it was copied, belongs to another server, or the store of a local server was reset.',
  TOKEN_EXPIRED: 'Application tokens end after the days chosen at their creation, account JWTs after hours.',
  TOKEN_REVOKED: 'Somebody revoked the token, or regenerated the token of the bot.',
  TOKEN_TYPE_NOT_ACCEPTED:
    'For example an application token for an endpoint of the account, from --token-file or an environment variable.',
  PAGE_SESSION_REQUIRED:
    'The link was opened before, is older than two minutes, or the server has restarted; a page ends with its server.',
  HOST_NOT_ALLOWED:
    'The request came through a proxy, a forwarded port or another name, or a website tried to reach the local server.',
  CROSS_SITE_REQUEST: 'Another website made the browser send it, or the browser does not send Sec-Fetch-Site.',
  RESET_NOT_ALLOWED: 'Other machines can reach the server, and it was started without --allow-reset.',
  APPLICATION_DISABLED: 'Its owner disabled it, or the platform suspended it.',
  FEATURE_UNAVAILABLE: 'The platform has not given the feature to the application, or has taken it away.',
  INSUFFICIENT_SCOPE: 'The token, or the bot, was created without this scope; scopes are never added later.',
  ORIGIN_NOT_ALLOWED: 'The origin of the encrypted session is not in allowed_origins of the application.',
  SECURE_ORIGIN_NOT_ALLOWED: 'The server was started with other allowed origins.',
  SECURE_SESSION_ORIGIN_MISMATCH: 'The session was negotiated with another --origin.',
  SECURE_TRANSPORT_DISABLED: 'The server was started without the encrypted transport.',
  BOT_DISABLED: 'The platform disabled the bot.',
  BOT_NOT_LINKED: 'The bot was never linked, or was unlinked.',
  BOT_BLOCKED: 'The user blocked the bot.',
  ROUTE_NOT_FOUND: 'The path is mistyped, the base URL has a path too many, or the server is older.',
  APPLICATION_NOT_FOUND: 'The id is mistyped, or the application belongs to another account or server.',
  TOKEN_NOT_FOUND: 'The id is mistyped, or the token belongs to another application.',
  TEMPLATE_NOT_FOUND: 'The id is mistyped, or the template belongs to another application or server.',
  VOUCHER_NOT_FOUND: 'The code is mistyped, or the voucher belongs to another application or server.',
  REDEMPTION_NOT_FOUND: 'The id is that of a voucher, mistyped, or the redemption belongs to another application.',
  BOT_NOT_FOUND: 'The id is mistyped, or the bot belongs to another account or server.',
  CHAT_NOT_FOUND: 'The id is mistyped, or the chat belongs to another bot.',
  DELIVERY_NOT_FOUND: 'The id is mistyped, belongs to another bot, or the delivery was deleted by age.',
  FAULT_NOT_FOUND: 'The id is mistyped, or the fault has affected all of its calls, or a reset removed it.',
  SNAPSHOT_NOT_FOUND: 'The name is mistyped, or the snapshot was saved on another server.',
  METHOD_NOT_ALLOWED: 'The path exists with another method.',
  APPLICATION_LIMIT_REACHED: 'Each account has a limit of applications.',
  TOKEN_LIMIT_REACHED: 'Each application has a limit of active tokens.',
  EXTERNAL_TEMPLATE_ID_EXISTS:
    'The template was created before, or its id is used by another one that is not rejected.',
  TEMPLATE_STATE_CONFLICT: 'It was submitted or decided before.',
  TEMPLATE_NOT_ACTIVE: 'It is a draft, waits for its review, or was rejected.',
  TEMPLATE_VALIDITY_ENDED: 'Its last day has passed.',
  TEMPLATE_QUOTA_EXHAUSTED: 'As many vouchers were issued as issue_limit allows; a reversal does not give quota back.',
  EXTERNAL_ISSUE_ID_CONFLICT: 'The same external_issue_id was used for another recipient.',
  VOUCHER_ALREADY_REDEEMED: 'It was presented before, or the response to the first redemption was lost.',
  VOUCHER_EXPIRED: 'Its validity is over.',
  VOUCHER_NOT_YET_VALID: 'Its validity has not begun.',
  RECIPIENT_MISMATCH: 'The recipient given is not the one to whom it was issued.',
  REDEMPTION_ALREADY_REVERSED: 'Somebody reversed it before, or the response to the first reversal was lost.',
  REVERSAL_WINDOW_CLOSED: 'More than 90 days have passed since the redemption.',
  IDEMPOTENCY_KEY_REUSED: 'The same key was sent with other values.',
  IDEMPOTENCY_KEY_IN_PROGRESS: 'The same command runs twice, or the first call has not ended yet.',
  BOT_LIMIT_REACHED: 'Each account has a limit of bots.',
  USERNAME_TAKEN: 'A bot of any account has it.',
  BOT_NOT_APPROVED: 'The bot waits for its review, or was rejected.',
  BOT_STATE_CONFLICT: 'The review or the status of the bot was decided before, or it takes no such updates.',
  BOT_ALREADY_LINKED: 'A bot is linked to one application at a time.',
  WEBHOOK_ACTIVE: 'A bot with a webhook cannot be polled.',
  POLLING_ACTIVE: 'A getUpdates call of this bot is open.',
  POLL_TERMINATED: 'Two programs poll the same bot.',
  DELIVERY_NOT_REPLAYABLE:
    'No webhook is set, the bot is disabled, no attempt was made yet, or the bytes were deleted.',
  DELIVERY_NOT_RETRYABLE: 'It is pending, was delivered already, or no webhook is set.',
  SECURE_SESSION_EXPIRED: 'The session was too old, or the server was restarted.',
  SECURE_SESSION_MISMATCH: 'The keys of the server changed since the session was negotiated.',
  REQUEST_REPLAYED: 'Something between sent the same encrypted request twice.',
  SNAPSHOTS_DAMAGED: 'The disk failed, or another program changed the file.',
  SNAPSHOT_OUTDATED: 'The tables of the server have changed since, with an update of voucherctl.',
  DATABASE_SHARED: 'The server stores its data on PostgreSQL, which other servers may share.',
  PAGE_OFF: 'The server is bound beyond loopback, so other machines could read the page.',
  TEST_CLOCK_OFF: 'The server keeps real time.',
  PAYLOAD_TOO_LARGE: 'The body has more than 64 KiB; that of a replay may have more.',
  SECURE_ENVELOPE_TOO_LARGE: 'The encrypted body has more than 262,144 bytes.',
  UNSUPPORTED_MEDIA_TYPE: 'The Content-Type or Content-Encoding header is not what voucherctl sends.',
  SECURE_TRANSPORT_REQUIRED: 'The server, or the application, takes encrypted calls only.',
  RATE_LIMITED: 'Too many calls of this credential or address in a short time.',
  CREDENTIAL_ATTEMPTS_EXCEEDED: 'Too many codes that do not exist were tried in a short time.',
  INTERNAL_ERROR: 'A defect of the server.',
  SERVICE_UNAVAILABLE: 'The server is overloaded, starts or stops, or its database is away.',
}

/** Meaning, causes and fix of each failure that voucherctl itself detects. */
const local: Readonly<Record<LocalCode, readonly [meaning: string, causes: string, fix: string]>> = {
  UNEXPECTED: [
    'voucherctl failed unexpectedly.',
    'A defect of voucherctl.',
    'Run it again with --debug to see where, and report it.',
  ],
  SERVER_START_FAILED: [
    'The local server did not start.',
    'The process ended, or did not become ready in time.',
    'Read its log: `voucherctl server logs`. `voucherctl doctor` checks this machine.',
  ],
  SERVER_STOP_FAILED: [
    'The local server was not stopped.',
    'Its process belongs to another user, does not respond, or is another program with the same id.',
    'See which one runs: `voucherctl server status`.',
  ],
  EADDRINUSE: [
    'The port is in use.',
    'Another program listens on it.',
    'Choose another one with --port, or 0 for any that is free.',
  ],
  EACCES: ['The port is not open to you.', 'Ports below 1024 are for administrators.', 'Choose a --port from 1024 on.'],
  DATA_FOLDER_IN_USE: [
    'Another process uses the data folder.',
    'A server runs on it, or an export or import.',
    'Use the one that runs: `voucherctl server status`; or choose another folder with --data.',
  ],
  STORE_UNUSABLE: [
    'The store cannot be used.',
    'The database is damaged, is no store of voucherctl, was written by a newer version, or its disk is full.',
    'Read the message, and restore a backup if the file is damaged: `voucherctl server import --help`.',
  ],
  DATABASE_UNREACHABLE: [
    'PostgreSQL does not respond.',
    'It does not run, its address or password is wrong, or a firewall is between.',
    'Check --database-url or VOUCHERCTL_DATABASE_URL.',
  ],
  SQLITE_MISSING: [
    'The server needs SQLite.',
    'This version of Node has none, and the optional package is not installed.',
    'Use Node 22.13 or later, or install without --omit=optional.',
  ],
  KEYS_UNUSABLE: [
    'The keys of the data folder cannot be used.',
    'A key file is damaged, cannot be read, or is open to other users.',
    'Set its mode to 0600, or restore it from a backup.',
  ],
  OPERATOR_NOT_LOOPBACK: [
    'The operator API is for this machine only.',
    'The server was to listen on an address that others reach.',
    'Leave --host out, or start it with --operator off.',
  ],
  FILE_UNWRITABLE: [
    'A file or standard output cannot be written.',
    'The disk is full, the folder is missing, or you may not write there.',
    'Choose another path, or correct its permissions.',
  ],
  RECEIVER_WRONG: [
    'A webhook receiver took a delivery that it must refuse, or refused one that it must take.',
    'The receiver does not check signature, timestamp or duplicates as the interface demands.',
    'Correct the receiver. The guide: `voucherctl help webhook-library`.',
  ],
  JQ_FAILED: [
    'The --jq filter failed; the command itself was done.',
    'The filter does not fit the data, or the data is too large for it.',
    'See the data with --json, or filter item by item with -o jsonl.',
  ],
  USAGE: [
    'The command line is wrong.',
    'A command, flag or value is unknown, or two of them contradict each other.',
    'Add --help to the command.',
  ],
  INVALID_INPUT: [
    'The input cannot be sent.',
    'A file is no JSON, or a value does not fit a path or header.',
    'Correct the value that the message names.',
  ],
  CONFIG_INVALID: [
    'A configuration file is invalid.',
    'It was edited by hand, or cut.',
    'Correct what the message names: `voucherctl doctor` checks all of them.',
  ],
  CONFIG_HOLDS_SECRET: [
    'The project file holds a secret.',
    'Project files are shared, so they may not hold tokens, keys or passwords.',
    'Remove it from the file, revoke it, and store a new one in a profile: `voucherctl login`.',
  ],
  CREDENTIAL_UNENCRYPTED: [
    'A credential would travel unencrypted.',
    'The profile is a production one and the base URL is plain http.',
    advice.CREDENTIAL_UNENCRYPTED,
  ],
  REDEEM_CODE_MISTYPED: [
    'The redeem code has a typing mistake.',
    'Its check symbol does not fit the others.',
    'Read it again from the voucher, or scan its QR code.',
  ],
  JQ_INVALID: [
    'The --jq filter is no valid one.',
    'A mistake in its syntax; often the shell removed quotes.',
    'Put it into single quotes. Nothing was sent.',
  ],
  UNKNOWN_FIELD: [
    '--fields names a member that does not exist.',
    'A typing mistake, or a member of another command.',
    'Choose from those that the hint lists.',
  ],
  FILE_UNREADABLE: [
    'A file cannot be read.',
    'It is missing, a folder, too large, or you may not read it.',
    'Check path and permissions.',
  ],
  INBOX_FORMAT: [
    'The inbox has a format that this version cannot read.',
    'A newer version wrote it, or the file is damaged.',
    'Move the file away, or choose another folder with --inbox.',
  ],
  EXPORT_UNUSABLE: [
    'The export cannot be imported.',
    'The file is cut, changed, or from a newer version.',
    'Make it again: `voucherctl server export --help`.',
  ],
  INPUT_REQUIRED: [
    'A value is missing.',
    'It is asked for on a terminal only, and never with --no-input.',
    'Give the flag or argument that the message names.',
  ],
  CONFIRMATION_REQUIRED: [
    'The command needs a confirmation.',
    'It destroys something, and nobody could be asked, or the answer was no.',
    'Add --yes.',
  ],
  BASE_URL_REQUIRED: [
    'No server is chosen.',
    'No flag, variable, project file or profile names one, and no server runs in the default data folder.',
    'Start one with `voucherctl server start --detach`, or name one with --base-url or VOUCHERCTL_BASE_URL; `voucherctl server list` shows those that run.',
  ],
  CREDENTIAL_REQUIRED: [
    'There is no credential of the kind that the command needs for this server.',
    'Nothing was stored, or it was stored for another server.',
    'Store one: `voucherctl login`, `voucherctl tokens create --save` or `voucherctl bots get --save`.',
  ],
  PROJECT_NOT_ALLOWED: [
    'The project file names a server that you have not allowed.',
    'A voucherctl.json names a server that is not one of yours that run, or was changed since it was allowed.',
    'See what it says with `voucherctl project show`, then `voucherctl project allow`.',
  ],
  PROFILE_NOT_FOUND: [
    'There is no such profile.',
    'The name is mistyped, or nothing was stored under it.',
    'See them with `voucherctl profiles list`; `voucherctl login` creates one.',
  ],
  PROJECT_FILE_NOT_FOUND: [
    'No project file counts here.',
    'There is none up to the root of the repository, or it was passed over.',
    'See why: `voucherctl project show`.',
  ],
  DELIVERY_NOT_RECORDED: [
    'The inbox has no such delivery.',
    'The id is mistyped, or belongs to another inbox.',
    'See them with `voucherctl webhook inbox list`.',
  ],
  INBOX_NOT_FOUND: [
    'There is no such inbox.',
    'Nothing was received yet, or --inbox is mistyped.',
    'Receive something: `voucherctl webhook listen --help`.',
  ],
  STORE_NOT_FOUND: [
    'There is no store in the data folder.',
    'No server ran with it yet, or --data is mistyped.',
    'Name the folder with --data.',
  ],
  INBOX_IN_USE: [
    'A listener writes to the inbox.',
    'It runs in another terminal.',
    'Stop the listener, or choose another folder with --inbox.',
  ],
  RESULTS_IN_USE: [
    'Another run writes to the results.',
    'The same command runs in another terminal.',
    'Wait for it, or choose another --out.',
  ],
  STORE_NOT_EMPTY: [
    'The store is not empty.',
    'An import goes into an empty store only.',
    'Choose another folder with --data, or another database.',
  ],
  RECEIVER_REFUSED: [
    'The webhook receiver refused the delivery.',
    'It has another secret, or does not take this type.',
    'Compare the secrets: `voucherctl webhook verify --help`.',
  ],
  RECEIVER_FAILED: [
    'The webhook receiver failed.',
    'It responded with 5xx, or with something that is not HTTP.',
    'Read its log.',
  ],
  LOCAL_SERVER_NOT_RUNNING: [
    'No local server runs with this data folder.',
    'It was stopped, or ended.',
    'Start it: `voucherctl server start --detach`.',
  ],
  NETWORK_ERROR: [
    'There was no connection to the server, or it broke.',
    'It does not run, the address is wrong, or a firewall, proxy or certificate is in the way.',
    advice.NETWORK_ERROR,
  ],
  TIMEOUT: ['The server did not respond in time.', 'It is overloaded, or the network is slow.', advice.TIMEOUT],
  INVALID_RESPONSE: [
    'The response does not come from a voucher service.',
    'The base URL is that of another server, or a proxy responded.',
    advice.INVALID_RESPONSE,
  ],
  SECURE_BOOTSTRAP_INVALID: [
    'The server offers no valid encrypted transport.',
    'It is another service, or something between changed the response.',
    advice.SECURE_BOOTSTRAP_INVALID,
  ],
  SECURE_SESSION_INVALID: [
    'The encrypted session is not valid.',
    'The server did not prove its key, or something between changed the response.',
    advice.SECURE_SESSION_INVALID,
  ],
  SECURE_PIN_MISMATCH: [
    'The key of the server is not a pinned one.',
    'The key was rotated, or another server responds.',
    advice.SECURE_PIN_MISMATCH,
  ],
  SECURE_ANSWER_INVALID: [
    'The encrypted response cannot be read.',
    'Something between changed it, or the server differs in its protocol.',
    advice.SECURE_ANSWER_INVALID,
  ],
  SECURE_ANSWER_REFUSED: [
    'The encrypted transport was refused without a known code.',
    'A proxy or another server responded.',
    advice.SECURE_ANSWER_REFUSED,
  ],
  SECURE_PLAIN_REFUSED: [
    'The call cannot be encrypted, and encryption is required.',
    'The route is not part of the encrypted transport.',
    advice.SECURE_PLAIN_REFUSED,
  ],
  NOT_ALL_ARRIVED: [
    'Not all deliveries of --expect arrived in time.',
    'They were not sent, were refused, or --timeout is too short.',
    'See what came: `voucherctl webhook inbox list`.',
  ],
  ABORTED: [
    'The command was interrupted.',
    'Ctrl-C, or a prompt that was left.',
    'Run it again; a repeat of issue, redeem and reverse needs the same --idempotency-key.',
  ],
}

/** Meaning, causes and fix of a failure code. Members are added, never renamed: scripts read them. */
export interface Explanation {
  readonly code: string
  readonly meaning: string
  readonly causes: string
  readonly fix: string
  /** HTTP status; null for a failure that voucherctl itself detects. */
  readonly status: number | null
  readonly exit: number
  readonly retryable: boolean
}

export const explainedCodes: readonly string[] = [...Object.keys(failures), ...Object.keys(localFailures)]

/** Explains a code as it is typed, in any case; undefined for an unknown code. */
export function explanationOf(typed: string, env: Environment): Explanation | undefined {
  const found = explain(typed.toUpperCase())
  return found && { ...found, fix: suggestionsOf(env, new Map())(found.fix) }
}

function explain(code: string): Explanation | undefined {
  if (isFailureCode(code)) {
    const { message: meaning, status, retryable, exit } = failures[code]
    return { code, meaning, causes: causes[code], fix: advice[code], status, exit, retryable }
  }
  if (!isLocalCode(code)) return undefined
  const [meaning, why, fix] = local[code]
  return { code, meaning, causes: why, fix, status: null, exit: exitOf({ code, status: null }), retryable: false }
}

/** Formats an explanation for a person. */
export function explanationText({ code, meaning, causes: why, fix, status, exit, retryable }: Explanation): string {
  const from = status === null ? 'Found by voucherctl itself' : `HTTP status ${status}`
  const again = retryable ? 'voucherctl retries such calls automatically' : 'repeating it unchanged does not help'
  const retries = status === null ? '' : `; ${again}`
  const end = `${from}, exit code ${exit}${retries}.`
  const lines = [`${code}: ${meaning}`, '', `Causes: ${why}`, `What to do: ${fix}`, '', end]
  // Keep each command on one line, so that it can be copied.
  const unbroken = lines.map((it) => it.replaceAll(/`[^`]+`/g, (command) => command.replaceAll(' ', '\u00a0')))
  return unbroken
    .flatMap((it) => wrap(it, 80, '  '))
    .join('\n')
    .replaceAll('\u00a0', ' ')
}
