import { createHmac } from 'node:crypto'
import type { Keyring } from '../domain/keyring.js'

/** A value for each key by its id, by which a store knows the keys that its vouchers were made with: useless without them. */
export function keyChecks(ring: Keyring): ReadonlyMap<string, string> {
  return new Map(
    ring.all.map(({ id, derive, index }) => [
      id,
      createHmac('sha256', derive).update(index).update('voucherctl key check').digest('base64url'),
    ]),
  )
}
