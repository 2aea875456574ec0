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

/** @throws for a key id that the key file lacks: without the key no credential of its vouchers can be derived */
export function keyOf(ring: Keyring, id: string): CredentialKey {
  const key = ring.all.find((it) => it.id === id)
  if (key === undefined) throw new Error(`credential key ${id} is not in the key file`)
  return key
}
