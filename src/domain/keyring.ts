/** Pair of secret keys: `derive` derives credentials, `index` computes the index values of credentials. */
export interface CredentialKey {
  /** Key id, stored with each voucher so that keys can rotate. */
  readonly id: string
  readonly derive: Uint8Array
  readonly index: Uint8Array
}

export interface Keyring {
  /** Key of new vouchers. */
  readonly current: CredentialKey
  /** Every key in use, the current key first. */
  readonly all: readonly CredentialKey[]
}

/** Thrown if data of a call needs a key that only other processes have (rules/server.md#credential-keys-of-a-fleet). */
export class KeyMissing extends Error {}

/** @throws KeyMissing */
export function keyOf(ring: Keyring, id: string): CredentialKey {
  const key = ring.all.find((it) => it.id === id)
  if (key === undefined) throw new KeyMissing(`credential key ${id} is not in the key file`)
  return key
}
