/** Pair of keys: one derives credentials, the other computes their index values. */
export interface CredentialKey {
  /** Stored with each voucher, so keys can rotate. */
  readonly id: string
  readonly derive: Uint8Array
  readonly index: Uint8Array
}

export interface Keyring {
  /** Key of new vouchers. */
  readonly current: CredentialKey
  /** Every key in use, the current one first. */
  readonly all: readonly CredentialKey[]
}

/** @throws for a key id that is missing from the key file: its credentials cannot be derived any more */
export function keyOf(ring: Keyring, id: string): CredentialKey {
  const key = ring.all.find((it) => it.id === id)
  if (key === undefined) throw new Error(`credential key ${id} is not in the key file`)
  return key
}
