import type { SecureKey } from '../../contract/platform/platform.js'
import type { RandomBytes } from '../../domain/ids.js'
import type { Keyring } from '../../domain/keyring.js'
import { seal, unseal } from '../../domain/sealing.js'
import type { ServerKey } from '../../secure/server/key.js'
import type { ServerSession } from '../../secure/server/session.js'
import * as storedKeys from '../../store/secure-keys.js'
import type { SessionSealing } from '../../store/shared-sessions.js'
import type { Store } from '../../store/store.js'
import type { Clock } from '../clock.js'
import { SecureKeys, type TransportKeys } from './keys.js'

/** Owner id to which the encryption binds the transport keys. */
export const OWNER = 'transport keys'

/**
 * The static keys of the encrypted transport for all processes of a database, which stores them encrypted with the key
 * file. A client may open a session with one process and use it with another. A rotation reaches all processes.
 */
export class SharedSecureKeys implements TransportKeys {
  readonly #store: Store
  readonly #seal: (text: string) => string
  readonly #open: (sealed: string) => string
  readonly #random: RandomBytes
  #version = 0
  #keys!: SecureKeys

  private constructor(store: Store, ring: Keyring, random: RandomBytes) {
    this.#store = store
    this.#random = random
    this.#seal = (text) => seal(ring, OWNER, text, random)
    this.#open = (sealed) => unseal(ring, OWNER, sealed)
  }

  /** Reads or creates the keys; follows changes by other processes until the store closes. */
  static async open(store: Store, ring: Keyring, random: RandomBytes, clock: Clock): Promise<SharedSecureKeys> {
    const shared = new SharedSecureKeys(store, ring, random)
    await shared.#change(clock.now(), () => {})
    // If a reload fails, the next expiry sweep reads the keys again.
    const reload = () => void shared.#reload(clock.now()).catch(() => {})
    store.listen((subject) => subject === storedKeys.SUBJECT && reload(), reload)
    return shared
  }

  get current(): ServerKey {
    return this.#keys.current
  }

  keyFor(kid: string | undefined, now: number): ServerKey | undefined {
    return this.#keys.keyFor(kid, now)
  }

  list(now: number): SecureKey[] {
    return this.#keys.list(now)
  }

  rotate(now: number): Promise<void> {
    return this.#change(now, (keys) => keys.rotate(now))
  }

  async destroyExpired(now: number): Promise<void> {
    await this.#change(now, (keys) => keys.destroyExpired(now))
  }

  async #reload(now: number): Promise<void> {
    const found = await this.#store.read(storedKeys.load)
    // A read that overlaps a rotation by this process may return the previous version.
    if (found === undefined || found.version <= this.#version) return
    this.#keys = this.#read(this.#open(found.sealed), now).keys
    this.#version = found.version
  }

  /** Changes and stores the keys; starts again if another process has changed them concurrently. */
  async #change(now: number, change: (keys: SecureKeys) => void): Promise<void> {
    for (;;) {
      const found = await this.#store.read(storedKeys.load)
      const before = found === undefined ? null : this.#open(found.sealed)
      const { keys, text } = this.#read(before, now)
      change(keys)
      const version = found?.version ?? 0
      const changed = text()
      if (changed === before) {
        this.#keys = keys
        this.#version = version
        return
      }
      const sealed = this.#seal(changed)
      if (!(await this.#store.write(() => storedKeys.replace(version, sealed)))) continue
      this.#keys = keys
      this.#version = version + 1
      return
    }
  }

  /** Reads keys from the text of a key file; `text` returns the text after later changes of the keys. */
  #read(before: string | null, now: number): { keys: SecureKeys; text: () => string } {
    let text = before
    const file = { name: 'The row in secure_keys', read: () => text, write: (written: string) => void (text = written) }
    return { keys: new SecureKeys(file, this.#random, now), text: () => text as string }
  }
}

interface SealedSession {
  readonly kid: string
  readonly origin: string
  readonly expiresAt: number
  /** base64url */
  readonly keyC2s: string
  readonly keyS2c: string
}

/** Encrypts sessions with the key file, each bound to its session id (sid) (rules/callers.md#stored-secrets). */
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
