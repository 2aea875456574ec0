import type { JWTVerifyGetKey } from 'jose'
import { type Refusal, refuse } from '../contract/errors.js'

/** `aud` of an account token (rules/callers.md#account-tokens). */
const AUDIENCE = 'voucher-console'
const ACCOUNT_ID = /^[!-~]{1,128}$/

/** Load the JWT library with the first JWT, because runtime calls carry no JWT. */
const jose = () => import('jose')

export interface AccountKeys {
  /** Resolves to the account id (`sub`) of a valid JWT. */
  verify(
    jwt: string,
    now: number,
  ): Promise<{ ok: true; accountId: string } | Refusal<'TOKEN_INVALID' | 'TOKEN_EXPIRED' | 'SERVICE_UNAVAILABLE'>>
  /** Signs a JWT with this server's own key; null when accounts come from an external key set. */
  readonly sign: ((accountId: string, now: number, lifetimeSeconds: number) => Promise<string>) | null
}

/** Signs and verifies account JWTs with HS256 and the server's own key. */
export function ownAccountKeys(key: Uint8Array): AccountKeys {
  return {
    verify: (jwt, now) => check(jwt, () => key, ['HS256'], now),
    sign: async (accountId, now, lifetimeSeconds) => {
      const { SignJWT } = await jose()
      const issuedAt = Math.floor(now / 1000)
      return new SignJWT({})
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setSubject(accountId)
        .setAudience(AUDIENCE)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + lifetimeSeconds)
        .sign(key)
    },
  }
}

const FETCH_MS_MAX = 5_000
const REPORT_INTERVAL_MS = 60_000
/** Reload the key set if the system clock goes back by more ms; a smaller step only delays the refresh. */
const CLOCK_STEP_MS = 10_000

/**
 * Verifies account JWTs with an external key set (JWKS). Accepts asymmetric algorithms only: a shared secret in a
 * public key set is not secret.
 * @param onUnavailable receives the reason why the key set cannot be read, without its URL; at most one call a minute
 */
export function remoteAccountKeys(url: URL, onUnavailable: (reason: string) => void): AccountKeys {
  let keySet: JWTVerifyGetKey | undefined
  let latest = 0
  let reportedAt = Number.NEGATIVE_INFINITY
  const report = (reason: string) => {
    if (performance.now() - reportedAt < REPORT_INTERVAL_MS) return
    reportedAt = performance.now()
    onUnavailable(reason)
  }
  return {
    async verify(jwt, now) {
      // jose computes the age of the set from the system clock: after a step back it would not refresh the set.
      if (Date.now() < latest - CLOCK_STEP_MS) keySet = undefined
      latest = Date.now()
      if (keySet === undefined) {
        const { createRemoteJWKSet, customFetch } = await jose()
        keySet = createRemoteJWKSet(url, { timeoutDuration: FETCH_MS_MAX, [customFetch]: fetchKeySet })
      }
      return check(jwt, keySet, ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'], now, report)
    },
    sign: null,
  }
}

/** Thrown when the key set cannot be read. Every other error of a verification is the fault of the token. */
class KeySetUnavailable extends Error {}

/** @throws KeySetUnavailable if the key set cannot be read, which jose's errors do not distinguish from a bad key */
async function fetchKeySet(url: string, init: RequestInit): Promise<Response> {
  let set: unknown
  try {
    const response = await fetch(url, init)
    if (response.status !== 200) throw new KeySetUnavailable(`status ${response.status}`)
    set = await response.json()
  } catch (error) {
    throw error instanceof KeySetUnavailable ? error : new KeySetUnavailable(reasonOf(error as Error))
  }
  const keys = (set as { keys?: unknown } | null)?.keys
  const isSet = Array.isArray(keys) && keys.every((key) => typeof key === 'object' && key !== null)
  if (!isSet) throw new KeySetUnavailable('not a key set')
  return Response.json(set)
}

/** Returns the code of an error, never its message, which may quote the URL or the response. */
function reasonOf({ name, cause }: Error): string {
  const code = (cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : name
}

async function check(
  jwt: string,
  key: JWTVerifyGetKey | (() => Uint8Array),
  algorithms: string[],
  now: number,
  onUnavailable?: (reason: string) => void,
): ReturnType<AccountKeys['verify']> {
  const { jwtVerify } = await jose()
  try {
    const { payload } = await jwtVerify(jwt, key as JWTVerifyGetKey, {
      algorithms,
      audience: AUDIENCE,
      requiredClaims: ['sub', 'exp'],
      currentDate: new Date(now),
    })
    return typeof payload.sub === 'string' && ACCOUNT_ID.test(payload.sub)
      ? { ok: true, accountId: payload.sub }
      : refuse('TOKEN_INVALID')
  } catch (error) {
    if (error instanceof KeySetUnavailable) {
      onUnavailable?.(error.message)
      return refuse('SERVICE_UNAVAILABLE')
    }
    // A token whose key in the set is unusable is as invalid as a token whose key is missing.
    return refuse((error as { code?: unknown }).code === 'ERR_JWT_EXPIRED' ? 'TOKEN_EXPIRED' : 'TOKEN_INVALID')
  }
}
