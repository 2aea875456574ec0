/** An entry of the failure table (rules/calls.md#failure-codes). */
interface FailureRule {
  /** HTTP status of the response. */
  readonly status: number
  /** Exit code of a command that ends with this failure (see `voucherctl help exit-codes`). */
  readonly exit: number
  /** True when a retry of the unchanged call may succeed. */
  readonly retryable: boolean
  /** One sentence for users. */
  readonly message: string
  /** What the author of a client can do. */
  readonly fix: string
  /** What a user of the command line can do; default: `fix`, if that text names no commands or flags. */
  readonly cliFix: string
  /** Causes that neither message nor fix names. */
  readonly cause?: string
  /** What the refusal depends on beside the call and the records that it names: a repeated call may not meet it. */
  readonly dependsOn?: Dependence
  /** True if the refusal says nothing of a record that the call names: it comes earlier, or there is none. */
  readonly isBeforeRecords: boolean
}

/** See `FailureRule.dependsOn`. `age`: of a record, or of its last use; `count`: how many there are already. */
export type Dependence =
  | 'age'
  | 'count'
  | 'credential'
  | 'rate limits'
  | 'malformed key'
  | 'malformed body'
  | 'long body'
  | 'concurrent calls'
  | 'access'
  | 'options'
  | 'snapshots'
  | 'secret URL'
  | 'outage'
  | 'bug'

const exitsByStatus: Readonly<Record<number, number>> = { 401: 4, 403: 4, 404: 5, 409: 6, 426: 10, 429: 7 }

/** Returns the exit code for an HTTP status without a known failure code. */
export function exitOfStatus(status: number): number {
  return exitsByStatus[status] ?? (status >= 400 && status < 500 ? 8 : 9)
}

type Others = Partial<Omit<FailureRule, 'status' | 'message' | 'fix'>>

function rule(status: number, message: string, fix: string, others?: Others): FailureRule {
  const retryable = status === 429 || status === 503
  const isBeforeRecords = status === 401 || status === 404
  return { status, exit: exitOfStatus(status), retryable, isBeforeRecords, message, fix, cliFix: fix, ...others }
}

/** A failure of the encrypted transport itself, whose exit code is 10 for every status. */
const secure = (status: number, message: string, fix: string, others?: Others) =>
  rule(status, message, fix, { ...others, exit: 10 })

const WALK = '`voucherctl secure check` walks through the protocol step by step.'
const UPDATE = `A newer voucherctl may be needed. ${WALK}`
const NEW_CREDENTIAL =
  'Store a new one: `voucherctl tokens create --save` for an application, `voucherctl bots regenerate-token --save` for a bot, `voucherctl login` for an account.'

/** The failure table: every code that a voucher service returns. */
export const failures = {
  INVALID_JSON: rule(400, 'The body is not valid JSON.', 'Send one JSON object, UTF-8, nested at most 16 levels.', {
    dependsOn: 'malformed body',
  }),
  VALIDATION_FAILED: rule(
    400,
    'The request does not fit the interface.',
    'Correct each member named in details.errors.',
    {
      cliFix: 'Correct each value that is named above.',
      cause: 'A value is missing, unknown, malformed or out of its range.',
      isBeforeRecords: true,
    },
  ),
  IDEMPOTENCY_KEY_REQUIRED: rule(
    400,
    'The Idempotency-Key header is missing.',
    'Send a key that is unique for this business action.',
    {
      cliFix: 'Give a key that is unique for this business action with --idempotency-key.',
      cause: 'Issue, redeem and reverse need the header; voucherctl always sends it, so something between removed it.',
      dependsOn: 'malformed key',
    },
  ),
  IDEMPOTENCY_KEY_INVALID: rule(
    400,
    'The Idempotency-Key header is malformed.',
    'Send it once: 1 to 255 visible ASCII characters without spaces.',
    { cliFix: 'Give --idempotency-key 1 to 255 visible ASCII characters without spaces.', dependsOn: 'malformed key' },
  ),

  OFFSET_IN_FUTURE: rule(
    400,
    'The offset lies beyond the next update.',
    'Send at most details.next_offset; leave offset out to read from the first update.',
    {
      cliFix: 'Read from the first update: `voucherctl bots updates`.',
      cause: 'The offset came from another bot or another server, or the updates of the server were reset.',
    },
  ),
  CHAT_NOT_PRIVATE: rule(
    400,
    'Vouchers are issued in private chats only.',
    'Use the private chat of the user with this bot.',
  ),
  WEBHOOK_URL_REFUSED: rule(
    400,
    'Updates cannot be delivered to this URL.',
    'Use an https URL of a public host, port 443, 8443 or from 1024; see details.reason.',
    {
      cliFix:
        'Use an https URL of a public host, port 443, 8443 or from 1024. For a receiver on this machine: `voucherctl webhook listen --help`.',
      dependsOn: 'secret URL',
    },
  ),

  SECURE_ENVELOPE_INVALID: secure(
    400,
    'The envelope is malformed.',
    'Send exactly its eight fields, binary ones as canonical unpadded base64url.',
    { cliFix: UPDATE, cause: 'Client and server differ in their protocol, or something between changed the request.' },
  ),
  SECURE_VERSION_UNSUPPORTED: secure(
    400,
    'This version or suite is not supported.',
    'Use the v and the suite that bootstrap names.',
    { cliFix: 'Nothing was sent. Update the older of the two.' },
  ),
  REQUEST_TIMESTAMP_OUT_OF_RANGE: secure(
    400,
    'The clock of the client differs too much.',
    'Take the time from serverTime of bootstrap; 60 s are allowed either way.',
    {
      cliFix: 'Set the clock of this machine; 60 s are allowed either way. `voucherctl doctor` compares the two.',
      cause: 'The clock of this machine or of the server is wrong, or the request was held back for more than 60 s.',
    },
  ),
  DECRYPTION_FAILED: secure(
    400,
    'The envelope could not be decrypted.',
    'Check key derivation, AAD, IV and tag; then negotiate a new session.',
    {
      cliFix: `Repeat it. If it fails again: ${WALK}`,
      cause: 'The keys of the server changed, or something between changed the request.',
    },
  ),
  SECURE_PUBLIC_KEY_INVALID: secure(
    400,
    'The public key is not valid.',
    'Send clientPublicKey: an uncompressed point of P-256, 65 bytes, 87 characters of base64url.',
    { cliFix: UPDATE, cause: 'Client and server differ in their protocol.' },
  ),
  SECURE_REQUEST_INVALID: secure(
    400,
    'The request inside the envelope is not valid.',
    'Correct the part that details.part names.',
    {
      cliFix: UPDATE,
      cause: 'Client and server differ in their protocol, or in the routes that may be called encrypted.',
    },
  ),

  TOKEN_MISSING: rule(401, 'The call carries no credential.', 'Send the header Authorization: Bearer <token>.', {
    cliFix: 'Give a credential with --token-file PATH, in its environment variable, or store one: `voucherctl login`.',
    cause: 'None was given, or something between removed the Authorization header.',
  }),
  TOKEN_INVALID: rule(
    401,
    'The credential is not valid.',
    'Check that the whole value was copied and belongs to this server.',
    {
      cliFix: `Check that the whole value was copied and belongs to this server. ${NEW_CREDENTIAL}`,
      cause: 'It was cut when it was copied, belongs to another server, or the store of a local server was reset.',
    },
  ),
  TOKEN_EXPIRED: rule(401, 'The credential has expired.', 'Create a new token, or log in again.', {
    cliFix: NEW_CREDENTIAL,
    cause: 'Application tokens end after the days chosen at their creation, account JWTs after hours.',
    dependsOn: 'credential',
  }),
  TOKEN_REVOKED: rule(401, 'The token was revoked.', 'Create a new token, or regenerate the token of the bot.', {
    cliFix: NEW_CREDENTIAL,
    cause: 'Somebody revoked the token, or regenerated the token of the bot.',
    dependsOn: 'credential',
  }),
  TOKEN_TYPE_NOT_ACCEPTED: rule(
    401,
    'This kind of credential is not accepted here.',
    'Use the credential kind named in details.accepted.',
    {
      cliFix: '`voucherctl whoami` shows the credentials at hand and their kinds.',
      cause:
        'For example an application token for an endpoint of the account, from --token-file or an environment variable.',
    },
  ),
  PAGE_SESSION_REQUIRED: rule(
    401,
    'The page has no session here: its link was used, has expired or is of another server, or its session has ended.',
    'Run voucherctl open, or voucherctl webhook listen --open for a listener; each link opens one tab, within two minutes.',
    {
      cliFix: 'Open the page again: `voucherctl open`, or `voucherctl webhook listen --open` for a listener.',
      dependsOn: 'access',
    },
  ),

  HOST_NOT_ALLOWED: rule(
    403,
    'The header Host does not name this server.',
    'Use a name in details.allowed; the operator API and the page of a local server accept no other name and no other port.',
    {
      cliFix:
        'Name the server as it names itself, with its own port: `voucherctl server list` shows its URL. A proxy or a forwarded port must keep this name.',
      cause:
        'The request came through a proxy, a forwarded port or another name, or a website tried to reach the local server.',
      dependsOn: 'access',
    },
  ),
  CROSS_SITE_REQUEST: rule(
    403,
    'The request does not come from the page of this server.',
    'Open the page with voucherctl open; programs send the operator key, without the header in details.header.',
    {
      cliFix: 'Open the page again: `voucherctl open`. A program sends the operator key and no Origin.',
      cause: 'Another website made the browser send it, or the browser does not send Sec-Fetch-Site.',
      dependsOn: 'access',
    },
  ),
  RESET_NOT_ALLOWED: rule(
    403,
    'This server is bound beyond loopback and does not let its state be replaced.',
    'Start it with --allow-reset.',
    {
      cliFix: 'Stop it (`voucherctl server stop`), then start it with --allow-reset and its other flags.',
      dependsOn: 'options',
    },
  ),
  SERVER_NOT_LOOPBACK: rule(
    403,
    'This server is bound beyond loopback: its operator sees no codes and does not act for others.',
    'Use a server that only its own machine reaches: start it without --host.',
    {
      cliFix: 'Stop it (`voucherctl server stop`), then start it without --host: `voucherctl server start --detach`.',
      dependsOn: 'options',
    },
  ),
  APPLICATION_DISABLED: rule(
    403,
    'The application is not active.',
    'Its owner can enable it with a PATCH; a suspension is lifted by the platform.',
    {
      cliFix:
        'Its owner enables a disabled application with `voucherctl apps update --status active`; the platform lifts a suspension, on a local server `voucherctl platform apps reinstate`.',
    },
  ),
  FEATURE_UNAVAILABLE: rule(
    403,
    'The application does not have the vouchers feature.',
    'Ask the platform to switch the feature on.',
    {
      cliFix:
        'Ask the platform for the vouchers feature; on a local server: `voucherctl platform apps features --feature vouchers`.',
    },
  ),
  INSUFFICIENT_SCOPE: rule(
    403,
    'The token lacks the required scope.',
    'Create a token that carries details.required_scope.',
    {
      cliFix:
        'Create a token with this scope: `voucherctl tokens create --save`. The scopes of a bot are chosen when you apply for it: `voucherctl bots apply --help`.',
      cause: 'The token, or the bot, was created without this scope; scopes are never added later.',
      dependsOn: 'credential',
      isBeforeRecords: true,
    },
  ),
  ORIGIN_NOT_ALLOWED: rule(
    403,
    'The application does not allow the origin of the session.',
    'Open the session with an origin that allowed_origins of the application lists.',
    {
      cliFix:
        'Give an --origin that the application allows. `voucherctl apps get` lists them, `voucherctl apps update` with --allowed-origin replaces them.',
      dependsOn: 'access',
    },
  ),
  SECURE_ORIGIN_NOT_ALLOWED: secure(
    403,
    'The server does not allow this origin.',
    'Send the Origin that the server lists, in canonical form; server integrations send none.',
    { cliFix: 'Leave --origin out, or give one that the server allows.' },
  ),
  SECURE_SESSION_ORIGIN_MISMATCH: secure(
    403,
    'The session belongs to another origin.',
    'Send the same Origin for session and dispatch, or none for both.',
    { cliFix: `Repeat it. If it fails again: ${WALK}` },
  ),
  SECURE_TRANSPORT_DISABLED: secure(403, 'The encrypted transport is switched off.', 'Call the endpoints directly.', {
    cliFix: 'Nothing was sent. Only with --secure off does the call go in plain text.',
    dependsOn: 'options',
  }),
  BOT_DISABLED: rule(403, 'The bot is disabled.', 'Only the platform enables it again.', {
    cliFix: 'Only the platform enables it again; on a local server: `voucherctl platform bots enable`.',
  }),
  BOT_NOT_LINKED: rule(
    403,
    'The bot is not linked to an application.',
    'Link it to an application of the same account.',
    { cliFix: 'Link it to an application of the same account: `voucherctl apps link-bot`.' },
  ),
  BOT_BLOCKED: rule(403, 'The user has blocked the bot.', 'Only the user can lift the block.', {
    cliFix: 'Only the user can lift the block; on a local server: `voucherctl platform users unblock`.',
  }),

  ROUTE_NOT_FOUND: rule(404, 'There is no such route.', 'Check the path; all paths begin with /api/v1/.', {
    cliFix:
      'Check the base URL (`voucherctl profile show --explain`) and the path; `voucherctl api routes` lists the routes of a voucher service.',
    cause: 'The path is mistyped, the base URL has a path too many, or the server is older.',
  }),
  APPLICATION_NOT_FOUND: rule(404, 'No such application.', 'List the applications of this account.', {
    cliFix: 'The applications of the account: `voucherctl apps list`.',
    cause: 'The id is mistyped, or the application belongs to another account or server.',
  }),
  TOKEN_NOT_FOUND: rule(404, 'No such token.', 'List the tokens of this application.', {
    cliFix: 'The tokens of an application: `voucherctl tokens list`.',
    cause: 'The id is mistyped, or the token belongs to another application.',
  }),
  TEMPLATE_NOT_FOUND: rule(404, 'No such template.', 'List the templates of this application.', {
    cliFix: 'The templates of the application: `voucherctl templates list`.',
    cause: 'The id is mistyped, or the template belongs to another application or server.',
  }),
  VOUCHER_NOT_FOUND: rule(404, 'No such voucher.', 'Scan or type the code again; it must belong to this application.', {
    cliFix:
      'Scan or type the code again. A token finds only vouchers of its application: `voucherctl whoami`. `voucherctl platform vouchers list` shows all of a local server.',
    cause: 'The code is mistyped, or the token belongs to another application than the voucher.',
  }),
  REDEMPTION_NOT_FOUND: rule(404, 'No such redemption.', 'Use the id that the redeem call returned.', {
    cliFix: 'Use the id that the redemption printed; `voucherctl vouchers verify` shows it for a redeemed voucher.',
    cause: 'The id belongs to a voucher, is mistyped, or the redemption belongs to another application.',
  }),
  BOT_NOT_FOUND: rule(404, 'No such bot.', 'List the bots of this account.', {
    cliFix: 'The bots of the account: `voucherctl bots list`.',
    cause: 'The id is mistyped, or the bot belongs to another account or server.',
  }),
  CHAT_NOT_FOUND: rule(404, 'No such chat.', 'Use a chat that a user has started with this bot.', {
    cliFix: 'Use a chat that a user has started with this bot; on a local server: `voucherctl platform chats list`.',
  }),
  SNAPSHOT_NOT_FOUND: rule(404, 'There is no snapshot of this name.', 'List the snapshots of the server.', {
    cliFix: 'The snapshots of the server: `voucherctl platform snapshots list`.',
    cause: 'The name is mistyped, or the snapshot was saved on another server.',
    dependsOn: 'snapshots',
  }),
  FAULT_NOT_FOUND: rule(404, 'No such fault.', 'List the faults of the server.', {
    cliFix: 'List them with `voucherctl platform faults list`.',
    cause: 'The id is mistyped, or the fault has affected all of its calls, or a reset removed it.',
  }),
  DELIVERY_NOT_FOUND: rule(404, 'No such delivery.', 'List the deliveries of this bot.', {
    cliFix: 'The deliveries of a bot: `voucherctl webhook deliveries`.',
    cause: 'The id is mistyped, belongs to another bot, or the delivery was deleted by age.',
  }),
  METHOD_NOT_ALLOWED: rule(405, 'This path does not take this method.', 'Use one of the methods in the Allow header.', {
    cliFix: '`voucherctl api routes` lists the methods of each path.',
  }),

  APPLICATION_LIMIT_REACHED: rule(
    409,
    'The account has as many applications as it may have.',
    'Reuse an application of this account.',
    { cliFix: 'Reuse one of `voucherctl apps list`; applications cannot be deleted.', dependsOn: 'count' },
  ),
  TOKEN_LIMIT_REACHED: rule(
    409,
    'The application has as many active tokens as it may have.',
    'Revoke a token that is no longer used.',
    {
      cliFix: 'Revoke one that is no longer used: `voucherctl tokens list`, then `voucherctl tokens revoke`.',
      dependsOn: 'count',
    },
  ),
  EXTERNAL_TEMPLATE_ID_EXISTS: rule(
    409,
    'Another template already has this external_template_id.',
    'Use the template in details.template_id, or another id.',
    {
      cliFix: 'Use the template that has it, or another --external-id: `voucherctl templates list`.',
      cause: 'The template was created before, or its id is used by another one that is not rejected.',
    },
  ),
  TEMPLATE_STATE_CONFLICT: rule(
    409,
    'The state of the template does not allow this.',
    'Read its status: only draft and rejected templates can be submitted, only reviewing ones approved or rejected.',
    {
      cliFix:
        'Read its status with `voucherctl templates list`: only draft and rejected templates can be submitted, only reviewing ones approved or rejected.',
    },
  ),
  TEMPLATE_NOT_ACTIVE: rule(
    409,
    'The template is not active.',
    'Submit it and wait for the approval of the platform.',
    {
      cliFix:
        'Submit it and wait for the approval: `voucherctl templates submit`; on a local server: `voucherctl platform templates approve`.',
      cause: 'It is a draft, waits for its review, or was rejected.',
    },
  ),
  TEMPLATE_VALIDITY_ENDED: rule(
    409,
    'The validity of the template is over.',
    'Create a template with a later validity.',
    { cliFix: 'Create a template with a later validity: `voucherctl templates create`.', dependsOn: 'age' },
  ),
  TEMPLATE_QUOTA_EXHAUSTED: rule(
    409,
    'The issue limit of the template is used up.',
    'Create another template; quota is never given back.',
    { cliFix: 'Create another template: `voucherctl templates create`. Quota is never given back.', dependsOn: 'age' },
  ),
  EXTERNAL_ISSUE_ID_CONFLICT: rule(
    409,
    'This external_issue_id was issued to another recipient.',
    'Use another external_issue_id for each issuance.',
    { cliFix: 'Give each issuance another --external-id.' },
  ),
  VOUCHER_ALREADY_REDEEMED: rule(
    409,
    'The voucher is already redeemed.',
    'See details.redemption_id; a redemption can be reversed.',
    {
      cliFix: 'Nothing was redeemed. `voucherctl vouchers reverse` takes a redemption back.',
      cause: 'It was presented before, or the response to the first redemption was lost.',
    },
  ),
  VOUCHER_EXPIRED: rule(409, 'The voucher has expired.', 'Issue a new voucher if the benefit is still due.', {
    cliFix: 'Issue a new one if the benefit is still due: `voucherctl vouchers issue`.',
    dependsOn: 'age',
  }),
  VOUCHER_NOT_YET_VALID: rule(409, 'The voucher is not valid yet.', 'Redeem it at or after details.valid_from.', {
    cliFix: 'Redeem it once it is valid.',
    dependsOn: 'age',
  }),
  RECIPIENT_MISMATCH: rule(409, 'The voucher belongs to another recipient.', 'Check who presents it.', {
    cliFix: 'Check who presents it: --recipient must be the user to whom it was issued.',
  }),
  REDEMPTION_ALREADY_REVERSED: rule(
    409,
    'The redemption is already reversed.',
    'Nothing to do; see details.reversed_at.',
    {
      cliFix: 'There is nothing to do.',
      cause: 'Somebody reversed it before, or the response to the first reversal was lost.',
    },
  ),
  REVERSAL_WINDOW_CLOSED: rule(
    409,
    'The redemption is too old to be reversed.',
    'A redemption can be reversed for 90 days.',
    {
      cliFix: 'A redemption can be reversed for 90 days. Issue a new voucher if the benefit is due again.',
      dependsOn: 'age',
    },
  ),
  IDEMPOTENCY_KEY_REUSED: rule(
    409,
    'The Idempotency-Key belongs to a different request.',
    'Use a new key for a new action; repeat a request unchanged.',
    {
      cliFix: 'Leave --idempotency-key out for a new action; with it, repeat the first command unchanged.',
      isBeforeRecords: true,
    },
  ),
  IDEMPOTENCY_KEY_IN_PROGRESS: rule(
    409,
    'The first call with this Idempotency-Key is still running.',
    'Repeat the same call after the time in Retry-After.',
    {
      retryable: true,
      cliFix: 'Repeat the same command with the same --idempotency-key.',
      cause: 'The same command may run twice.',
      dependsOn: 'concurrent calls',
    },
  ),
  BOT_LIMIT_REACHED: rule(409, 'The account has as many bots as it may have.', 'Reuse a bot of this account.', {
    cliFix: 'Reuse one of `voucherctl bots list`.',
    dependsOn: 'count',
  }),
  USERNAME_TAKEN: rule(409, 'Another bot has this username.', 'Choose another username.', {
    cause: 'Usernames are unique across all accounts.',
  }),
  BOT_NOT_APPROVED: rule(
    409,
    'The bot is not approved.',
    'Wait for the review of the platform, or apply again after a rejection.',
    {
      cliFix:
        'Wait for the review, or apply again after a rejection: `voucherctl bots apply`; on a local server: `voucherctl platform bots approve`.',
      isBeforeRecords: true,
    },
  ),
  BOT_STATE_CONFLICT: rule(
    409,
    'The state of the bot does not allow this.',
    'Read its review_status and status; only pending bots are decided.',
    {
      cliFix: 'Read its review_status and status with `voucherctl bots get`; only pending bots are decided.',
      cause: 'The review or the status of the bot was decided before, or it takes no such updates.',
    },
  ),
  BOT_ALREADY_LINKED: rule(
    409,
    'The bot is linked to another application.',
    'Unlink it from the application in details.application_id first.',
    {
      cliFix: 'Unlink it from the other application first: `voucherctl apps unlink-bot`.',
      cause: 'A bot is linked to one application at a time.',
    },
  ),
  WEBHOOK_ACTIVE: rule(
    409,
    'Updates go to a webhook.',
    'Delete the webhook to poll; until then nothing is confirmed.',
    {
      cliFix: 'Delete the webhook to poll: `voucherctl webhook delete`. Its updates: `voucherctl webhook deliveries`.',
    },
  ),
  POLLING_ACTIVE: rule(409, 'Updates are being polled.', 'End the open getUpdates call, then set the webhook.', {
    cliFix: 'End the `voucherctl bots updates` that runs, or the program that polls, then set the webhook.',
    dependsOn: 'concurrent calls',
  }),
  WEBHOOK_BORROWED: rule(
    409,
    'Another listener has the webhook of this bot.',
    'End the listener in details.holder, or wait until it has been silent for 30 s.',
    { cliFix: 'End that `voucherctl webhook listen`, or repeat it 30 s after its end.', dependsOn: 'snapshots' },
  ),
  POLL_TERMINATED: rule(409, 'A newer getUpdates call took over.', 'Run one poller for each bot.', {
    dependsOn: 'concurrent calls',
  }),
  DELIVERY_NOT_REPLAYABLE: rule(
    409,
    'The delivery cannot be replayed.',
    'See details.reason: its bot needs a webhook and must not be disabled; deleted bytes need a body, and a delivery without an attempt a new signature.',
    {
      cliFix:
        'Its bot needs a webhook and must be enabled. For a delivery without an attempt use --resign, for deleted bytes --body-file.',
    },
  ),
  DELIVERY_NOT_RETRYABLE: rule(
    409,
    'The delivery cannot be retried.',
    'Only failed and dead_letter deliveries are, and delivered ones with force, while a webhook is set.',
    {
      cliFix:
        'Only failed and dead_letter deliveries are retried, delivered ones with --force, and only while a webhook is set: `voucherctl webhook deliveries`.',
    },
  ),
  SECURE_SESSION_EXPIRED: secure(
    409,
    'The session has ended.',
    'Negotiate a new session and repeat once with a new rid and IV.',
    {
      cliFix: 'Repeat it: the next call negotiates a new session.',
      cause: 'The session was too old, or the server was restarted.',
    },
  ),
  SECURE_SESSION_MISMATCH: secure(
    409,
    'The session does not belong to this key.',
    'Read bootstrap again, negotiate, and repeat once.',
    {
      cliFix: 'Repeat it: the next call negotiates a new session.',
      cause: 'The keys of the server changed since the session was negotiated.',
    },
  ),
  REQUEST_REPLAYED: secure(
    409,
    'This envelope was already processed.',
    'Use a new rid and a new IV for every request.',
    { cliFix: 'Repeat it: each call is encrypted anew. If it fails again, something between sends requests twice.' },
  ),
  SNAPSHOT_OUTDATED: rule(
    409,
    'Another version of the server saved this snapshot.',
    'Remove it and save another one.',
    { cliFix: 'Remove it and save another one: `voucherctl platform snapshots list`.', dependsOn: 'snapshots' },
  ),
  SNAPSHOTS_DAMAGED: rule(
    409,
    'The file of a snapshot is damaged; the state of the server is not in it.',
    'Delete the file in details.file, or save a snapshot of this name.',
    {
      cliFix:
        'Delete the file of the snapshot in voucherctl.db.snapshots of the data folder: `voucherctl server status`.',
      cause: 'The disk failed, or another program changed the file.',
      dependsOn: 'snapshots',
    },
  ),
  DATABASE_SHARED: rule(
    409,
    'Other servers may use this database.',
    'Send shared: true to replace the state of all of them.',
    {
      cliFix: 'Stop the other servers of the database, or accept that they change too, and repeat with --yes.',
      cause: 'The server stores its data on PostgreSQL, which other servers may share.',
      dependsOn: 'options',
    },
  ),
  STORE_NOT_EMPTY: rule(409, 'The store is not empty.', 'Reset the server, or use another data folder or database.', {
    cliFix:
      'Choose another folder with --data, or another database; `voucherctl platform reset` returns a local server to its start.',
    cause: 'A seed and an import go into an empty store only.',
  }),
  PAGE_OFF: rule(
    409,
    'This server has no page.',
    'Start it without --host: a page is for a server that only its own machine reaches.',
    {
      cliFix: 'Stop it (`voucherctl server stop`), then start it without --host: `voucherctl server start --detach`.',
      cause: 'The server is bound beyond loopback, so other machines could read the page.',
      dependsOn: 'access',
    },
  ),
  TEST_CLOCK_OFF: rule(409, 'This server does not run on a test clock.', 'Start it with --test-clock.', {
    cliFix: 'Stop it (`voucherctl server stop`), then start it: `voucherctl server start --detach --test-clock`.',
    dependsOn: 'options',
  }),

  PAYLOAD_TOO_LARGE: rule(413, 'The body is too large.', 'Send at most 64 KiB; the bytes of a replay may have 1 MiB.', {
    dependsOn: 'long body',
  }),
  SECURE_ENVELOPE_TOO_LARGE: secure(
    413,
    'The envelope is too large.',
    'Send at most 262,144 bytes, or call the endpoint directly.',
    { cliFix: 'Send less, at most 262,144 bytes encrypted, or use --secure off if the server allows it.' },
  ),
  UNSUPPORTED_MEDIA_TYPE: rule(
    415,
    'The body is not application/json.',
    'Send Content-Type: application/json without a content encoding.',
    {
      cliFix: 'Check what stands between: a proxy may have changed the Content-Type header.',
      dependsOn: 'malformed body',
    },
  ),
  SECURE_TRANSPORT_REQUIRED: secure(
    426,
    'Calls must be encrypted here.',
    'Send the call through the encrypted transport: --secure required.',
    {
      cliFix: 'Repeat it with --secure required; `voucherctl profiles set --secure required` stores that.',
      cause: 'The server, or the application, takes encrypted calls only.',
      dependsOn: 'options',
    },
  ),
  RATE_LIMITED: rule(429, 'Too many calls.', 'Repeat after the time in Retry-After.', {
    cliFix: 'Repeat it later; --retries N lets the command wait for longer.',
    cause: 'Too many calls of this credential or address in a short time.',
    dependsOn: 'rate limits',
  }),
  CREDENTIAL_ATTEMPTS_EXCEEDED: rule(
    429,
    'Too many unknown codes were tried.',
    'Wait for the time in Retry-After; known codes are still accepted.',
    { cliFix: 'Wait before you try unknown codes again; known codes are still accepted.', dependsOn: 'rate limits' },
  ),

  INTERNAL_ERROR: rule(500, 'The server failed.', 'Report the request id; repeat with the same Idempotency-Key.', {
    cliFix: 'Report the request id to the operator of the server.',
    dependsOn: 'bug',
  }),
  SERVICE_UNAVAILABLE: rule(
    503,
    'The server cannot do this right now.',
    'Repeat after the time in Retry-After with the same Idempotency-Key.',
    {
      cliFix: 'Repeat it later. If it goes on: report the request id to the operator of the server.',
      cause: 'The server is overloaded, starts or stops, or its database is away.',
      dependsOn: 'outage',
    },
  ),
} as const satisfies Record<string, FailureRule>

export type FailureCode = keyof typeof failures

/** Details of a failure. Never put a secret into details: clients and terminals show them. */
type FailureDetails = Readonly<Record<string, unknown>>

/** A refusal, which domain functions, store operations and handlers return instead of throwing. */
export interface Refusal<Code extends FailureCode = FailureCode> {
  readonly ok: false
  readonly code: Code
  readonly details?: FailureDetails
  /** Replaces the message of the failure table by a more exact one. */
  readonly message?: string
  /** Whole seconds after which a retry may succeed. */
  readonly retryAfterSeconds?: number
  /** Voucher of the refused call, for the log. */
  readonly voucherId?: string
  /** Replaces the row of the failure table (rules/operator.md#faults); `code` may then be outside of it. */
  readonly planted?: { readonly status: number; readonly message: string; readonly retryable: boolean }
}

export function refuse<const Code extends FailureCode>(code: Code, details?: FailureDetails): Refusal<Code> {
  return details === undefined ? { ok: false, code } : { ok: false, code, details }
}

/** True for a code of the failure table; responses of other servers may contain unknown codes. */
export function isFailureCode(code: string): code is FailureCode {
  return Object.hasOwn(failures, code)
}
