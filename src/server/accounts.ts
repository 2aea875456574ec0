import type { JWTVerifyGetKey } from 'jose'
import { type Refusal, refuse } from '../contract/errors.js'

/** `aud` of an account token (DECISIONS.md#account-tokens). */
const AUDIENCE = 'voucher-console'
const ACCOUNT_ID = /^[!-~]{1,128}$/

/** Loaded with the first JWT: the runtime plane needs none. */
const jose = () => import('jose')

export interface AccountKeys {
  /** The account id (`sub`) of a valid JWT. */
  verify(
    jwt: string,
    now: number,
  ): Promise<{ ok: true; accountId: string } | Refusal<'TOKEN_INVALID' | 'TOKEN_EXPIRED' | 'SERVICE_UNAVAILABLE'>>
  /** A JWT of this server's own key; null when accounts come from a key set elsewhere. */
  readonly sign: ((accountId: string, now: number, lifetimeSeconds: number) => Promise<string>) | null
}

/** HS256 by the server's own key. */
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
/** A clock that steps back by less delays the reading of a set by no more. */
const CLOCK_STEP_MS = 10_000

/**
 * Asymmetric algorithms only: a shared secret in a public key set would be no secret.
 * @param onUnavailable told why the set cannot be read, at most once a minute; nothing of the URL is in it
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
      // jose tells the age of the set by the machine's clock: set back, it would never read the set again.
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

/** The set is not there: no fault of the token's. Anything else that fails is. */
class KeySetUnavailable extends Error {}

/** A key set, or the one error that says that there is none: jose would throw the same kinds for a bad key in it. */
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

/** Never its message, which may quote the URL or what came from there. */
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
    // A key that cannot be used verifies nothing: the token is as unknown as one whose key is not in the set.
    return refuse((error as { code?: unknown }).code === 'ERR_JWT_EXPIRED' ? 'TOKEN_EXPIRED' : 'TOKEN_INVALID')
  }
}
