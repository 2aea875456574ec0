import type { JWTVerifyGetKey } from 'jose'
import { type Refusal, refuse } from '../contract/errors.js'

/** decisions.md 2, account JWT. */
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

/** Asymmetric algorithms only: a shared secret in a public key set would be no secret. */
export function remoteAccountKeys(url: URL): AccountKeys {
  let keySet: JWTVerifyGetKey | undefined
  return {
    async verify(jwt, now) {
      keySet ??= (await jose()).createRemoteJWKSet(url, { timeoutDuration: 5_000 })
      return check(jwt, keySet, ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'], now)
    },
    sign: null,
  }
}

async function check(
  jwt: string,
  key: JWTVerifyGetKey | (() => Uint8Array),
  algorithms: string[],
  now: number,
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
    const code = (error as { code?: unknown }).code
    if (code === 'ERR_JWT_EXPIRED') return refuse('TOKEN_EXPIRED')
    const ofTheToken =
      typeof code === 'string' && /^ERR_(JWT|JWS|JOSE_ALG|JOSE_NOT|JWKS_NO_MATCHING|JWKS_MULTIPLE)/.test(code)
    return ofTheToken ? refuse('TOKEN_INVALID') : refuse('SERVICE_UNAVAILABLE')
  }
}
