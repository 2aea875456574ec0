/** Keys that credentials derive from and are indexed by. */
export interface CredentialKey {
  /** Stored with each voucher, so that keys can rotate. */
  readonly id: string
  readonly derive: Uint8Array
  readonly index: Uint8Array
}

export interface Keyring {
  /** New vouchers use it. */
  readonly current: CredentialKey
  /** Every key in use, the current one first. */
  readonly all: readonly CredentialKey[]
}

/** @throws when a voucher names a key that the ring has lost: its credentials cannot be derived any more */
export function keyOf(ring: Keyring, id: string): CredentialKey {
  const key = ring.all.find((it) => it.id === id)
  if (key === undefined) throw new Error(`credential key ${id} is not in the key file`)
  return key
}
