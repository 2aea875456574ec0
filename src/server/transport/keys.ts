import { existsSync } from 'node:fs'
import { KEY_GRACE_MS, type SecureKey } from '../../contract/platform/platform.js'
import type { RandomBytes } from '../../domain/ids.js'
import { formatInstant, instantOrNull, PROCESS_CLOCK_SKEW_MS_MAX } from '../../domain/time.js'
import { removeDrafts, replaceFile } from '../../files/replace-file.js'
import { pinOf } from '../../secure/public-key.js'
import { loadServerKey, makeServerPrivateKey, type ServerKey } from '../../secure/server/key.js'
import { decodeBase64url, encodeBase64url } from '../../values/base64url.js'
import { KeysUnusable, readKeyFile } from '../keys.js'

type KeyState = SecureKey['state']

/** A static key in the key file. Times in ms since the epoch. */
interface StoredKey {
  private_key: string
  state: KeyState
  created_at: number
  activated_at: number | null
  grace_until: number | null
}

interface KeyFile {
  version: 1
  keys: StoredKey[]
}

export interface TransportKeys {
  readonly current: ServerKey
  /** Returns the current key, or the key with this id (kid) while the server still accepts it. */
  keyFor(kid: string | undefined, now: number): ServerKey | undefined
  /** Makes the next key current; the replaced key enters its grace period. */
  rotate(now: number): void | Promise<void>
  /** Destroys the keys whose grace period has ended. */
  destroyExpired(now: number): void | Promise<void>
  list(now: number): SecureKey[]
}

interface SecureKeyFile {
  readonly name: string
  /** Returns the text of the file; null before the first write. */
  read(): string | null
  write(text: string): void
}

const CURE = 'Restore it from a backup, or remove it: the next start makes new keys, which pinned clients refuse.'

/** Text of the file of transport keys; null without a file. @throws KeysUnusable */
export const readSecureKeys = (path: string): string | null => (existsSync(path) ? readKeyFile(path, CURE) : null)

/**
 * Opens a key file that only this user may read.
 * @param flush false for a temporary folder
 */
export function secureKeyFile(path: string, flush: boolean): SecureKeyFile {
  return {
    name: path,
    read() {
      const text = readSecureKeys(path)
      // Temporary files of killed writers contain keys, which must be destroyed.
      removeDrafts(path)
      return text
    },
    write: (text) => replaceFile(path, text, { flush, follow: false }),
  }
}

/** A key file that exists only in memory. */
export function keyFileInMemory(): SecureKeyFile {
  let text: string | null = null
  return { name: 'secure-keys.json', read: () => text, write: (written) => void (text = written) }
}

type LoadedKey = StoredKey & { readonly key: ServerKey }

/**
 * The static keys of the encrypted transport: next -> current -> grace -> destroyed. The next key exists before the
 * server uses it, so that operators can distribute its pin in time.
 */
export class SecureKeys implements TransportKeys {
  #keys: LoadedKey[]
  readonly #file: SecureKeyFile
  readonly #random: RandomBytes

  /**
   * Reads the keys of the file, or creates the first keys.
   * @throws KeysUnusable
   */
  constructor(file: SecureKeyFile, random: RandomBytes, now: number) {
    this.#file = file
    this.#random = random
    const text = file.read()
    if (text !== null) {
      this.#keys = readKeys(text, file.name)
      this.destroyExpired(now)
    } else {
      this.#keys = []
      this.#save([this.#make('current', now), this.#make('next', now)])
    }
  }

  get current(): ServerKey {
    return this.#in('current').key
  }

  keyFor(kid: string | undefined, now: number): ServerKey | undefined {
    if (kid === undefined) return this.current
    const found = this.#keys.find((it) => it.key.kid === kid && it.state !== 'next')
    return found === undefined || isOver(found, now) ? undefined : found.key
  }

  rotate(now: number): void {
    const [current, next] = [this.#in('current'), this.#in('next')]
    const others = this.#keys.filter((it) => it.state === 'grace' && !isOver(it, now))
    this.#save([
      { ...next, state: 'current', activated_at: now },
      this.#make('next', now),
      { ...current, state: 'grace', grace_until: now + KEY_GRACE_MS },
      ...others,
    ])
  }

  destroyExpired(now: number): void {
    const rest = this.#keys.filter((it) => !isOver(it, now))
    if (rest.length < this.#keys.length) this.#save(rest)
  }

  list(now: number): SecureKey[] {
    return this.#keys
      .filter((it) => !isOver(it, now))
      .map(({ key, state, created_at, activated_at, grace_until }) => ({
        kid: key.kid,
        state,
        pin: pinOf(decodeBase64url(key.publicKey) as Uint8Array),
        created_at: formatInstant(created_at),
        activated_at: instantOrNull(activated_at),
        grace_until: instantOrNull(grace_until),
      }))
  }

  #in(state: 'current' | 'next'): LoadedKey {
    return this.#keys.find((it) => it.state === state) as LoadedKey
  }

  #make(state: 'current' | 'next', now: number): LoadedKey {
    const privateKey = makeServerPrivateKey(this.#random)
    return {
      private_key: encodeBase64url(privateKey),
      state,
      created_at: now,
      activated_at: state === 'current' ? now : null,
      grace_until: null,
      key: loadServerKey(privateKey),
    }
  }

  /** Writes the keys before using them: after a restart the server needs every key with which a session was opened. */
  #save(keys: LoadedKey[]): void {
    const file: KeyFile = { version: 1, keys: keys.map(({ key: _key, ...stored }) => stored) }
    this.#file.write(`${JSON.stringify(file, null, 2)}\n`)
    this.#keys = keys
  }
}

/** Creates the keys when a call needs them: few tests encrypt, and two keys take half of the start time. */
export function lazyKeys(make: () => SecureKeys): TransportKeys {
  let made: SecureKeys | undefined
  const keys = () => {
    made ??= make()
    return made
  }
  return {
    get current() {
      return keys().current
    },
    keyFor: (kid, now) => keys().keyFor(kid, now),
    rotate: (now) => keys().rotate(now),
    destroyExpired: (now) => made?.destroyExpired(now),
    list: (now) => keys().list(now),
  }
}

function isOver({ grace_until }: StoredKey, now: number): boolean {
  // A grace period that ends too late means that the clock was set back since the grace period began.
  return grace_until !== null && (now >= grace_until || grace_until - now > KEY_GRACE_MS + PROCESS_CLOCK_SKEW_MS_MAX)
}

function readKeys(text: string, name: string): LoadedKey[] {
  try {
    const file = JSON.parse(text) as KeyFile
    const keys = file.keys.map((stored) => ({
      ...stored,
      key: loadServerKey(decodeBase64url(stored.private_key) ?? new Uint8Array()),
    }))
    const count = (state: KeyState) => keys.filter((it) => it.state === state).length
    const isTimed = keys.every((it) => it.state !== 'grace' || Number.isSafeInteger(it.grace_until))
    if (file.version === 1 && count('current') === 1 && count('next') === 1 && isTimed) return keys
  } catch {
    // Fall through to the error below, which does not quote the file.
  }
  throw new KeysUnusable(`${name} is not a file of transport keys of this version, or it is incomplete. ${CURE}`)
}
