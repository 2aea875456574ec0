import { signWebhook, webhookHeaders } from '../webhook/signature.js'

interface FaultRule {
  /** A sentence that describes the fault. */
  readonly does: string
  /** Correct reaction of a receiver to a delivery with the fault. */
  readonly right: 'refused' | 'accepted'
  readonly because: string
}

/** Seconds between now and a stale or future timestamp: twice the tolerance of a receiver. */
const SKEW_SECONDS = 600
/** Milliseconds for sending a slow body, well below the 15 s that the platform waits for a response. */
const SLOW_BODY_MS = 2_000

/** Deliberate mistakes for `webhook trigger --fault` (rules/workbench.md#synthetic-updates). */
export const faultRules = {
  'bad-signature': {
    does: 'The last digit of the signature is another one.',
    right: 'refused',
    because: 'no secret made this signature',
  },
  stale: {
    does: `Signed with a timestamp ${SKEW_SECONDS} s ago.`,
    right: 'refused',
    because: 'a delivery older than 300 s may be a recorded one',
  },
  future: {
    does: `Signed with a timestamp ${SKEW_SECONDS} s ahead.`,
    right: 'refused',
    because: 'a timestamp may be at most 300 s ahead',
  },
  duplicate: {
    does: 'Each delivery is sent twice, the same bytes and headers.',
    right: 'accepted',
    because: 'a repeat gets the response of the first one and has no further effect',
  },
  reorder: {
    does: 'At least two deliveries are sent, the last id first.',
    right: 'accepted',
    because: 'updates of different chats arrive in any order, and after a failure updates of one chat too',
  },
  tamper: {
    does: 'A member is added to the body after it was signed.',
    right: 'refused',
    because: 'the signature covers the bytes of the body',
  },
  'swap-update-id': {
    does: `${webhookHeaders.updateId} is one more than update_id.`,
    right: 'refused',
    because: 'the header is not signed and must equal the update_id of the body',
  },
  'slow-body': {
    does: `The body arrives in pieces over ${SLOW_BODY_MS / 1000} s.`,
    right: 'accepted',
    because: 'a slow network is no mistake, and the platform waits 15 s for a response',
  },
} satisfies Record<string, FaultRule>

export type FaultName = keyof typeof faultRules
export const faults = Object.keys(faultRules) as FaultName[]

export interface UnsignedUpdate {
  readonly updateId: string
  readonly body: Uint8Array
}

interface SigningKey {
  readonly secret: string
  /** Timestamp of the delivery in Unix seconds. */
  readonly timestamp: number
}

/** Number of updates that must be sent to show a fault. */
export const updatesNeeded = (fault: FaultName | undefined) => (fault === 'reorder' ? 2 : 1)

/** Updates in the order in which they are sent; some faults reverse or repeat them. */
export function sendOrder<T>(updates: readonly T[], fault: FaultName | undefined): T[] {
  if (fault === 'reorder') return [...updates].reverse()
  return fault === 'duplicate' ? updates.flatMap((it) => [it, it]) : [...updates]
}

/** A signed delivery with its fault, ready to send. */
interface SignedDelivery {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Milliseconds over which the sender spreads the body; absent to send it in one piece. */
  readonly paceMs?: number
}

/** Signs an update and applies the fault. */
export function signWithFault(
  { updateId, body }: UnsignedUpdate,
  { secret, timestamp }: SigningKey,
  fault: FaultName | undefined,
): SignedDelivery {
  const shift = fault === 'stale' ? -SKEW_SECONDS : fault === 'future' ? SKEW_SECONDS : 0
  const headers = signWebhook({ rawBody: body, secrets: [secret], timestamp: timestamp + shift, updateId })
  const delivery = { headers, body }
  switch (fault) {
    case 'bad-signature': {
      const signature = headers[webhookHeaders.signature]
      const other = `${signature.slice(0, -1)}${signature.endsWith('0') ? '1' : '0'}`
      return { ...delivery, headers: { ...headers, [webhookHeaders.signature]: other } }
    }
    case 'tamper':
      return { ...delivery, body: tampered(body) }
    case 'swap-update-id':
      return { ...delivery, headers: { ...headers, [webhookHeaders.updateId]: String(BigInt(updateId) + 1n) } }
    case 'slow-body':
      return { ...delivery, paceMs: SLOW_BODY_MS }
    default:
      return delivery
  }
}

/** Changes the body but keeps it a JSON object with its update_id, so that only the signature reveals the change. */
function tampered(body: Uint8Array): Uint8Array {
  const text = Buffer.from(body).toString('latin1')
  const end = text.lastIndexOf('}')
  return Buffer.from(`${text.slice(0, end)},"tampered":true${text.slice(end)}`, 'latin1')
}
