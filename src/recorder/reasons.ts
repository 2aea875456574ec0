import { HIDDEN } from '../contract/platform/captured.js'
import { eachText, ID, isMembers, NAME, type RecordedCall } from './events.js'

/** What the steps so far know. */
export interface Known {
  /** Calls of the steps, in their order. */
  calls(): readonly RecordedCall[]
  /** Says which kind of call brought an id or a secret; undefined if none did. */
  originOf(text: string): 'recorded' | 'prepared' | undefined
  /** True if a step can send the credential of a call. */
  hasCredential(call: RecordedCall): boolean
}

const BEFORE = 'it depends on what happened before the recording, or at the same time'

/** Refusals to which more leads than calls and records. */
const unrepeatable: readonly (readonly [codes: RegExp, reason: string])[] = [
  [/^RATE_LIMITED|^CREDENTIAL_ATTEMPTS/, 'a scenario runs without rate limits'],
  [/^IDEMPOTENCY_KEY_(?:REQUIRED|INVALID)/, 'a scenario sends a valid key with each such call'],
  [/^IDEMPOTENCY_KEY_IN_PROGRESS|^POLL/, 'it depends on calls at the same time'],
  [/^INVALID_JSON|^UNSUPPORTED_MEDIA_TYPE/, 'a scenario sends valid JSON'],
  [/^PAYLOAD_TOO_LARGE/, 'the server has not kept its body'],
  [/^HOST_NOT|^CROSS_SITE|^ORIGIN_NOT|^PAGE_/, 'it depends on how the program reached the server'],
  [/^SECURE_TRANSPORT|^TEST_CLOCK|^RESET_NOT|^SERVER_NOT|^DATABASE_/, 'it depends on the options of the server'],
  [/^SNAPSHOT|^WEBHOOK_BORROWED/, 'a scenario has no snapshots and no listeners'],
  [/^WEBHOOK_URL_REFUSED/, 'its URL is a secret'],
  [/^SERVICE_UNAVAILABLE/, 'the server was not ready'],
  [/^INTERNAL_ERROR/, 'the server had an error'],
]

/** Codes that depend on the age or use of a record, or on the state and the scopes of a credential. */
const ofRecord = /^(?:VOUCHER_(?:EXPIRED|NOT_YET)|TEMPLATE_(?:QUOTA|VALIDITY)|REVERSAL_WINDOW)/
const ofCredential = /^(?:TOKEN_REVOKED|TOKEN_EXPIRED|INSUFFICIENT_SCOPE)$/

/** Codes that come before the server looks for the records that a call names, or say that there is none. */
const ofNoRecord = /_NOT_FOUND$|^VALIDATION|^TOKEN|^INSUFFICIENT|^IDEMPOTENCY|^BOT_NOT_APPROVED/

/** Members that another call must have used before the refusal. */
const takenMembers: Readonly<Record<string, string>> = {
  EXTERNAL_ISSUE_ID_CONFLICT: 'external_issue_id',
  EXTERNAL_TEMPLATE_ID_EXISTS: 'external_template_id',
  USERNAME_TAKEN: 'username',
}

/** Calls that lead to the state of which a refusal tells. */
const stateChanges: readonly (readonly [codes: RegExp, targets: RegExp])[] = [
  [/^APPLICATION_DISABLED/, /^apps\.update|suspendApp/],
  [/^FEATURE_UNAVAILABLE/, /setAppFeatures/],
  [/^BOT_DISABLED/, /disableBot/],
  [/^BOT_BLOCKED/, /blockChat/],
]

/** Says why no step can repeat a recorded call; undefined if one can. */
export function reasonAgainst(call: RecordedCall, known: Known): string | undefined {
  const { code, status, fault } = call
  // The step plants the fault again.
  if (fault !== null && fault !== 'delay') return undefined
  if (status === null) return 'it got no response'
  return code === null ? againstSuccess(call, known) : againstRefusal(call, code, known)
}

function againstSuccess(call: RecordedCall, known: Known): string | undefined {
  const { target, input, data, replayed, botId } = call
  if (/^platform\.(?:save|remove)Snapshot/.test(target)) return 'a scenario keeps no snapshots'
  if (replayed && !known.calls().some((it) => isSame(it, call))) return BEFORE
  if (target === 'bots.updates' && Number(input.offset) > 0 && known.originOf(botId ?? '') === 'prepared')
    return 'its offset counts updates from before the recording'
  const isVerified = target === 'vouchers.verify' && isMembers(data) && /^(?:expired|not_yet)/.test(String(data.reason))
  if (isVerified && textsOf(call).some((it) => known.originOf(it) === 'prepared')) return BEFORE
  const unknown = Object.entries(input).find(
    ([name, it]) =>
      /^(?!recipient|user|external).*(?:Id|_id)$/.test(name) && ID.test(String(it)) && !known.originOf(String(it)),
  )
  return unknown && `${unknown[1]} was created before, and the server has it no more`
}

function againstRefusal(call: RecordedCall, code: string, known: Known): string | undefined {
  const everywhere = unrepeatable.find(([codes]) => codes.test(code))?.[1]
  if (everywhere !== undefined) return everywhere
  const texts = textsOf(call)
  const unknown = texts.filter((it) => (ID.test(it) || NAME.test(it)) && known.originOf(it) === undefined)
  const ofCaller = againstCredential(call, code, known)
  if (ofCaller !== undefined) return ofCaller
  const isHidden = unknown.some((it) => NAME.test(it)) || texts.some((it) => it.includes(HIDDEN))
  if (code === 'VALIDATION_FAILED' && isHidden) return 'its input is hidden'
  if (unknown.length > 0 && !ofNoRecord.test(code) && !setsWebhook(call))
    return 'the server no longer has a record that it names'
  const isOfEarlierRecord = ofRecord.test(code) && texts.some((it) => known.originOf(it) === 'prepared')
  return isOfEarlierRecord || lacksCause(call, code, known.calls()) ? BEFORE : undefined
}

function againstCredential(call: RecordedCall, code: string, known: Known): string | undefined {
  const { caller, credential } = call
  if (credential === null) return undefined
  if (code === 'TOKEN_INVALID')
    return caller === 'jwt' || caller === 'operator' ? 'a scenario sends valid ones' : undefined
  const isOlder = ofCredential.test(code) && known.originOf(credential) !== 'recorded'
  return isOlder || !known.hasCredential(call) ? 'its credential is older than the recording' : undefined
}

/** True if no earlier call leads to a refusal. */
function lacksCause({ target, input, key, data }: RecordedCall, code: string, calls: readonly RecordedCall[]): boolean {
  const made = calls.filter((it) => it.code === null)
  const limit = /_LIMIT_REACHED$/.test(code) && isMembers(data) ? Number(data.limit) : 0
  const taken = takenMembers[code]
  const change = stateChanges.find(([codes]) => codes.test(code))?.[1]
  return (
    made.filter((it) => it.target === target).length < limit ||
    (taken !== undefined && !made.some((it) => it.input[taken] === input[taken])) ||
    (code === 'IDEMPOTENCY_KEY_REUSED' && !made.some((it) => it.key === key)) ||
    (change !== undefined && !made.some((it) => change.test(it.target)))
  )
}

export const setsWebhook = ({ target }: RecordedCall) => /^webhook\.set|borrowWebhook/.test(target)

function textsOf({ input }: RecordedCall): string[] {
  const texts: string[] = []
  eachText(input, (it) => texts.push(it))
  return texts
}

/** True if a replay can have its response from another call. */
function isSame(other: RecordedCall, { target, key, input: { external_issue_id: id } }: RecordedCall): boolean {
  if (other.target !== target) return false
  return (key !== undefined && other.key === key) || (id !== undefined && other.input.external_issue_id === id)
}
