import type { RandomBytes } from '../../domain/ids.js'
import type { Keyring } from '../../domain/keyring.js'
import { seal, unseal } from '../../domain/sealing.js'
import type { ServerSession } from '../../secure/server/session.js'
import type { SessionSealing } from '../../store/shared-sessions.js'

interface SealedSession {
  readonly kid: string
  readonly origin: string
  readonly expiresAt: number
  /** base64url */
  readonly keyC2s: string
  readonly keyS2c: string
}

/** Encrypts sessions with the key file, each bound to its session id (sid) (DECISIONS.md#stored-secrets). */
export function sessionSealing(ring: Keyring, random: RandomBytes): SessionSealing<ServerSession> {
  const text = (key: Uint8Array) => Buffer.from(key).toString('base64url')
  const bytes = (key: string) => new Uint8Array(Buffer.from(key, 'base64url'))
  return {
    seal: ({ sid, kid, origin, expiresAt, keyC2s, keyS2c }) => {
      const sealed: SealedSession = { kid, origin, expiresAt, keyC2s: text(keyC2s), keyS2c: text(keyS2c) }
      return seal(ring, sid, JSON.stringify(sealed), random)
    },
    open: (sid, sealed) => {
      const { keyC2s, keyS2c, ...rest } = JSON.parse(unseal(ring, sid, sealed)) as SealedSession
      return { sid, ...rest, keyC2s: bytes(keyC2s), keyS2c: bytes(keyS2c) }
    },
  }
}
