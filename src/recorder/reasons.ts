import { type Dependence, type FailureCode, failures } from '../contract/errors.js'
import { endpoints } from '../contract/index.js'
import { HIDDEN } from '../contract/platform/captured.js'
import { eachText, ID, isMembers, NAME, type RecordedCall, uniqueMembers } from './events.js'

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

/** Why no step can repeat a refusal that depends on more than calls and records. */
const unrepeatable: Readonly<Partial<Record<Dependence, string>>> = {
  'rate limits': 'a scenario runs without rate limits',
  'malformed key': 'a scenario sends a valid key with each such call',
  'malformed body': 'a scenario sends valid JSON',
  'long body': 'the server has not kept its body',
  'concurrent calls': 'it depends on calls at the same time',
  access: 'it depends on how the program reached the server',
  options: 'it depends on the options of the server',
  snapshots: 'a scenario has no snapshots and no listeners',
  'secret URL': 'its URL is a secret',
  outage: 'the server was not ready',
  bug: 'the server had an error',
}

const ruleOf = (code: string) => (Object.hasOwn(failures, code) ? failures[code as FailureCode] : undefined)

/** Members that another call must have used before a refusal, by its code. */
const takenMembers = new Map(Object.entries(uniqueMembers).map(([member, { code }]) => [code as string, member]))

/** Ids of the calls that lead to a refusal. */
const causesOf = (code: string) =>
  endpoints.filter((it) => it.leadsTo?.some((led) => led === code)).map(({ id }): string => id)

/** Says why no step can repeat a recorded call; undefined if one can. */
export function reasonAgainst(call: RecordedCall, known: Known): string | undefined {
  const { code, status, fault } = call
  // The step plants the fault again.
  if (fault !== null) return undefined
  if (status === null) return 'it got no response'
  return code === null ? againstSuccess(call, known) : againstRefusal(call, code, known)
}

function againstSuccess(call: RecordedCall, known: Known): string | undefined {
  const { target, input, data, replayed, botId } = call
  if (target === 'platform.saveSnapshot' || target === 'platform.removeSnapshot') return 'a scenario keeps no snapshots'
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
  const { dependsOn, isBeforeRecords } = ruleOf(code) ?? {}
  const everywhere = dependsOn && unrepeatable[dependsOn]
  if (everywhere !== undefined) return everywhere
  const texts = textsOf(call)
  const unknown = texts.filter((it) => (ID.test(it) || NAME.test(it)) && known.originOf(it) === undefined)
  const ofCaller = againstCredential(call, code, known)
  if (ofCaller !== undefined) return ofCaller
  const isHidden = unknown.some((it) => NAME.test(it)) || texts.some((it) => it.includes(HIDDEN))
  if (code === 'VALIDATION_FAILED' && isHidden) return 'its input is hidden'
  if (unknown.length > 0 && !isBeforeRecords && !setsWebhook(call))
    return 'the server no longer has a record that it names'
  const isOfEarlierRecord = dependsOn === 'age' && texts.some((it) => known.originOf(it) === 'prepared')
  return isOfEarlierRecord || lacksCause(call, code, known.calls()) ? BEFORE : undefined
}

function againstCredential(call: RecordedCall, code: string, known: Known): string | undefined {
  const { caller, credential } = call
  if (credential === null) return undefined
  if (code === 'TOKEN_INVALID')
    return caller === 'jwt' || caller === 'operator' ? 'a scenario sends valid ones' : undefined
  const isOlder = ruleOf(code)?.dependsOn === 'credential' && known.originOf(credential) !== 'recorded'
  return isOlder || !known.hasCredential(call) ? 'its credential is older than the recording' : undefined
}

/** True if no earlier call leads to a refusal. */
function lacksCause({ target, input, key, data }: RecordedCall, code: string, calls: readonly RecordedCall[]): boolean {
  const made = calls.filter((it) => it.code === null)
  const limit = ruleOf(code)?.dependsOn === 'count' && isMembers(data) ? Number(data.limit) : 0
  const taken = takenMembers.get(code)
  const causes = causesOf(code)
  return (
    made.filter((it) => it.target === target).length < limit ||
    (taken !== undefined && !made.some((it) => it.input[taken] === input[taken])) ||
    (code === 'IDEMPOTENCY_KEY_REUSED' && !made.some((it) => it.key === key)) ||
    (causes.length > 0 && !made.some((it) => causes.includes(it.target)))
  )
}

export const setsWebhook = ({ target }: RecordedCall) => target === 'webhook.set' || target === 'platform.borrowWebhook'

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
