/**
 * The failure table (DECISIONS.md#failure-codes): every code that a voucher service returns, with its HTTP status, exit
 * code, whether a retry may help, and advice.
 */
interface FailureRule {
  /** HTTP status of the response. */
  readonly status: number
  /** Exit code of a command that ends with this failure (see `voucherctl help exit-codes`). */
  readonly exit: number
  /** True when a retry of the unchanged call may succeed. */
  readonly retryable: boolean
  /** One sentence for users. */
  readonly message: string
  /** Advice for the user. */
  readonly advice: string
}

/** Returns the exit code for an HTTP status without a known failure code. */
export function exitOfStatus(status: number): number {
  if (status === 401 || status === 403) return 4
  if (status === 404) return 5
  if (status === 409) return 6
  if (status === 429) return 7
  if (status === 426) return 10
  return status >= 400 && status < 500 ? 8 : 9
}

function rule(status: number, message: string, advice: string): FailureRule {
  return { status, exit: exitOfStatus(status), retryable: status === 429 || status === 503, message, advice }
}

const retryable = (it: FailureRule): FailureRule => ({ ...it, retryable: true })

/** Marks a failure of the encrypted transport itself, whose exit code is 10 for every status. */
const secure = (it: FailureRule): FailureRule => ({ ...it, exit: 10 })

export const failures = {
  INVALID_JSON: rule(400, 'The body is not valid JSON.', 'Send one JSON object, UTF-8, nested at most 16 levels.'),
  VALIDATION_FAILED: rule(400, 'The request does not fit the interface.', 'Correct each member named in details.errors.'),
  IDEMPOTENCY_KEY_REQUIRED: rule(400, 'The Idempotency-Key header is missing.', 'Send a key that is unique for this business action.'),
  IDEMPOTENCY_KEY_INVALID: rule(400, 'The Idempotency-Key header is malformed.', 'Send it once: 1 to 255 visible ASCII characters without spaces.'),

  OFFSET_IN_FUTURE: rule(400, 'The offset lies beyond the next update.', 'Send at most details.next_offset; leave offset out to read from the first update.'),
  CHAT_NOT_PRIVATE: rule(400, 'Vouchers are issued in private chats only.', 'Use the private chat of the user with this bot.'),
  WEBHOOK_URL_REFUSED: rule(400, 'Updates cannot be delivered to this URL.', 'Use an https URL of a public host, port 443, 8443 or from 1024; see details.reason.'),

  SECURE_ENVELOPE_INVALID: secure(rule(400, 'The envelope is malformed.', 'Send exactly its eight fields, binary ones as canonical unpadded base64url.')),
  SECURE_VERSION_UNSUPPORTED: secure(rule(400, 'This version or suite is not supported.', 'Use the v and the suite that bootstrap names.')),
  REQUEST_TIMESTAMP_OUT_OF_RANGE: secure(rule(400, 'The clock of the client differs too much.', 'Take the time from serverTime of bootstrap; 60 s are allowed either way.')),
  DECRYPTION_FAILED: secure(rule(400, 'The envelope could not be decrypted.', 'Check key derivation, AAD, IV and tag; then negotiate a new session.')),
  SECURE_PUBLIC_KEY_INVALID: secure(rule(400, 'The public key is not valid.', 'Send clientPublicKey: an uncompressed point of P-256, 65 bytes, 87 characters of base64url.')),
  SECURE_REQUEST_INVALID: secure(rule(400, 'The request inside the envelope is not valid.', 'Correct the part that details.part names.')),

  TOKEN_MISSING: rule(401, 'The call carries no credential.', 'Send the header Authorization: Bearer <token>.'),
  TOKEN_INVALID: rule(401, 'The credential is not valid.', 'Check that the whole value was copied and belongs to this server.'),
  TOKEN_EXPIRED: rule(401, 'The credential has expired.', 'Create a new token, or log in again.'),
  TOKEN_REVOKED: rule(401, 'The token was revoked.', 'Create a new token, or regenerate the one of the bot.'),
  TOKEN_TYPE_NOT_ACCEPTED: rule(401, 'This kind of credential is not accepted here.', 'Use the credential kind named in details.accepted.'),
  PAGE_SESSION_REQUIRED: rule(401, 'The page has no session here: its link was used, has expired or is of another server, or its session has ended.', 'Run voucherctl open, or voucherctl webhook listen --open for a listener; each link opens one tab, within two minutes.'),

  HOST_NOT_ALLOWED: rule(403, 'The header Host does not name this server.', 'Use a name in details.allowed; the operator API and the page of a local server accept no other name and no other port.'),
  CROSS_SITE_REQUEST: rule(403, 'The request does not come from the page of this server.', 'Open the page with voucherctl open; programs send the operator key, without the header in details.header.'),
  RESET_NOT_ALLOWED: rule(403, 'This server is bound beyond loopback and does not let its state be replaced.', 'Start it with --allow-reset.'),
  APPLICATION_DISABLED: rule(403, 'The application is not active.', 'Its owner can enable it with a PATCH; a suspension is lifted by the platform.'),
  FEATURE_UNAVAILABLE: rule(403, 'The application does not have the vouchers feature.', 'Ask the platform to switch the feature on.'),
  INSUFFICIENT_SCOPE: rule(403, 'The token lacks the required scope.', 'Create a token that carries details.required_scope.'),
  ORIGIN_NOT_ALLOWED: rule(403, 'The application does not allow the origin of the session.', 'Open the session with an origin that allowed_origins of the application lists.'),
  SECURE_ORIGIN_NOT_ALLOWED: secure(rule(403, 'The server does not allow this origin.', 'Send the Origin that the server lists, in canonical form; server integrations send none.')),
  SECURE_SESSION_ORIGIN_MISMATCH: secure(rule(403, 'The session belongs to another origin.', 'Send the same Origin for session and dispatch, or none for both.')),
  SECURE_TRANSPORT_DISABLED: secure(rule(403, 'The encrypted transport is switched off.', 'Call the endpoints directly.')),
  BOT_DISABLED: rule(403, 'The bot is disabled.', 'Only the platform enables it again.'),
  BOT_NOT_LINKED: rule(403, 'The bot is not linked to an application.', 'Link it to an application of the same account.'),
  BOT_BLOCKED: rule(403, 'The user has blocked the bot.', 'Only the user can lift the block.'),

  ROUTE_NOT_FOUND: rule(404, 'There is no such route.', 'Check the path; all paths begin with /api/v1/.'),
  APPLICATION_NOT_FOUND: rule(404, 'No such application.', 'List the applications of this account.'),
  TOKEN_NOT_FOUND: rule(404, 'No such token.', 'List the tokens of this application.'),
  TEMPLATE_NOT_FOUND: rule(404, 'No such template.', 'List the templates of this application.'),
  VOUCHER_NOT_FOUND: rule(404, 'No such voucher.', 'Scan or type the code again; it must belong to this application.'),
  REDEMPTION_NOT_FOUND: rule(404, 'No such redemption.', 'Use the id that the redeem call returned.'),
  BOT_NOT_FOUND: rule(404, 'No such bot.', 'List the bots of this account.'),
  CHAT_NOT_FOUND: rule(404, 'No such chat.', 'Use a chat that a user has started with this bot.'),
  SNAPSHOT_NOT_FOUND: rule(404, 'There is no snapshot of this name.', 'List the snapshots of the server.'),
  FAULT_NOT_FOUND: rule(404, 'No such fault.', 'List the faults of the server.'),
  DELIVERY_NOT_FOUND: rule(404, 'No such delivery.', 'List the deliveries of this bot.'),
  METHOD_NOT_ALLOWED: rule(405, 'This path does not take this method.', 'Use one of the methods in the Allow header.'),

  APPLICATION_LIMIT_REACHED: rule(409, 'The account has as many applications as it may have.', 'Reuse an application of this account.'),
  TOKEN_LIMIT_REACHED: rule(409, 'The application has as many active tokens as it may have.', 'Revoke a token that is no longer used.'),
  EXTERNAL_TEMPLATE_ID_EXISTS: rule(409, 'Another template already has this external_template_id.', 'Use the template in details.template_id, or another id.'),
  TEMPLATE_STATE_CONFLICT: rule(409, 'The state of the template does not allow this.', 'Read its status; only draft and rejected templates are submitted, only reviewing ones decided.'),
  TEMPLATE_NOT_ACTIVE: rule(409, 'The template is not active.', 'Submit it and wait for the approval of the platform.'),
  TEMPLATE_VALIDITY_ENDED: rule(409, 'The validity of the template is over.', 'Create a template with a later validity.'),
  TEMPLATE_QUOTA_EXHAUSTED: rule(409, 'The issue limit of the template is used up.', 'Create another template; quota is never given back.'),
  EXTERNAL_ISSUE_ID_CONFLICT: rule(409, 'This external_issue_id was issued to another recipient.', 'Use an external_issue_id of its own for each issuance.'),
  VOUCHER_ALREADY_REDEEMED: rule(409, 'The voucher is already redeemed.', 'See details.redemption_id; a redemption can be reversed.'),
  VOUCHER_EXPIRED: rule(409, 'The voucher has expired.', 'Issue a new voucher if the benefit is still due.'),
  VOUCHER_NOT_YET_VALID: rule(409, 'The voucher is not valid yet.', 'Redeem it at or after details.valid_from.'),
  RECIPIENT_MISMATCH: rule(409, 'The voucher belongs to another recipient.', 'Check who presents it.'),
  REDEMPTION_ALREADY_REVERSED: rule(409, 'The redemption is already reversed.', 'Nothing to do; see details.reversed_at.'),
  REVERSAL_WINDOW_CLOSED: rule(409, 'The redemption is too old to be reversed.', 'A redemption can be reversed for 90 days.'),
  IDEMPOTENCY_KEY_REUSED: rule(409, 'The Idempotency-Key belongs to a different request.', 'Use a new key for a new action; repeat a request unchanged.'),
  IDEMPOTENCY_KEY_IN_PROGRESS: retryable(rule(409, 'The first call with this Idempotency-Key is still running.', 'Repeat the same call after the time in Retry-After.')),
  BOT_LIMIT_REACHED: rule(409, 'The account has as many bots as it may have.', 'Reuse a bot of this account.'),
  USERNAME_TAKEN: rule(409, 'Another bot has this username.', 'Choose another username.'),
  BOT_NOT_APPROVED: rule(409, 'The bot is not approved.', 'Wait for the review of the platform, or apply again after a rejection.'),
  BOT_STATE_CONFLICT: rule(409, 'The state of the bot does not allow this.', 'Read its review_status and status; only pending bots are decided.'),
  BOT_ALREADY_LINKED: rule(409, 'The bot is linked to another application.', 'Unlink it from the application in details.application_id first.'),
  WEBHOOK_ACTIVE: rule(409, 'Updates go to a webhook.', 'Delete the webhook to poll; until then nothing is confirmed.'),
  POLLING_ACTIVE: rule(409, 'Updates are being polled.', 'End the open getUpdates call, then set the webhook.'),
  POLL_TERMINATED: rule(409, 'A newer getUpdates call took over.', 'Run one poller for each bot.'),
  DELIVERY_NOT_REPLAYABLE: rule(409, 'The delivery cannot be replayed.', 'See details.reason: its bot needs a webhook and must not be disabled; deleted bytes need a body, and a delivery without an attempt a new signature.'),
  DELIVERY_NOT_RETRYABLE: rule(409, 'The delivery cannot be retried.', 'Only failed and dead_letter deliveries are, and delivered ones with force, while a webhook is set.'),
  SECURE_SESSION_EXPIRED: secure(rule(409, 'The session has ended.', 'Negotiate a new session and repeat once with a new rid and IV.')),
  SECURE_SESSION_MISMATCH: secure(rule(409, 'The session does not belong to this key.', 'Read bootstrap again, negotiate, and repeat once.')),
  REQUEST_REPLAYED: secure(rule(409, 'This envelope was already processed.', 'Use a new rid and a new IV for every request.')),
  SNAPSHOT_OUTDATED: rule(409, 'Another version of the server saved this snapshot.', 'Remove it and save another one.'),
  SNAPSHOTS_DAMAGED: rule(409, 'The file of a snapshot is damaged; the state of the server is not in it.', 'Delete the file in details.file, or save a snapshot of this name.'),
  DATABASE_SHARED: rule(409, 'Other servers may use this database.', 'Send shared: true to replace the state of all of them.'),
  PAGE_OFF: rule(409, 'This server has no page.', 'Start it without --host: a page is for a server that only its own machine reaches.'),
  TEST_CLOCK_OFF: rule(409, 'This server does not run on a test clock.', 'Start it with --test-clock.'),

  PAYLOAD_TOO_LARGE: rule(413, 'The body is too large.', 'Send at most 64 KiB; the bytes of a replay may have 1 MiB.'),
  SECURE_ENVELOPE_TOO_LARGE: secure(rule(413, 'The envelope is too large.', 'Send at most 262,144 bytes, or call the endpoint directly.')),
  UNSUPPORTED_MEDIA_TYPE: rule(415, 'The body is not application/json.', 'Send Content-Type: application/json without a content encoding.'),
  SECURE_TRANSPORT_REQUIRED: secure(rule(426, 'Calls must be encrypted here.', 'Send the call through the encrypted transport: --secure required.')),
  RATE_LIMITED: rule(429, 'Too many calls.', 'Repeat after the time in Retry-After.'),
  CREDENTIAL_ATTEMPTS_EXCEEDED: rule(429, 'Too many unknown codes were tried.', 'Wait for the time in Retry-After; known codes are still accepted.'),

  INTERNAL_ERROR: rule(500, 'The server failed.', 'Report the request id; repeat with the same Idempotency-Key.'),
  SERVICE_UNAVAILABLE: rule(503, 'The server cannot do this right now.', 'Repeat after the time in Retry-After with the same Idempotency-Key.'),
} as const satisfies Record<string, FailureRule>

export type FailureCode = keyof typeof failures

/** Details of a failure. Never put a secret into details: clients and terminals show them. */
type FailureDetails = Readonly<Record<string, unknown>>

/** A refusal, which domain functions, store operations and handlers return instead of throwing. */
export interface Refusal<Code extends FailureCode = FailureCode> {
  readonly ok: false
  readonly code: Code
  readonly details?: FailureDetails
  /** Whole seconds after which a retry may succeed. */
  readonly retryAfterSeconds?: number
}

export function refuse<const Code extends FailureCode>(code: Code, details?: FailureDetails): Refusal<Code> {
  return details === undefined ? { ok: false, code } : { ok: false, code, details }
}

/** True for a code of the failure table; responses of other servers may contain unknown codes. */
export function isFailureCode(code: string): code is FailureCode {
  return Object.hasOwn(failures, code)
}
