import { expect } from 'vitest'
import * as secure from '../../src/secure/index.js'
import { isPublicKey } from '../../src/secure/public-key.js'
import { loadWycheproof, type WycheproofCase } from './wycheproof-file.js'

export interface EcdhCase extends WycheproofCase {
  readonly point: Uint8Array
  readonly privateKey: Uint8Array
  readonly shared: string
  /** `crv` of a case whose keys are JSON Web Keys, otherwise undefined. */
  readonly curve: string | undefined
}

const hex = (text: string) => Buffer.from(text, 'hex')
const base64url = (text: string) => Buffer.from(text, 'base64url')
const asHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
/** Decodes a private key to 32 bytes: Wycheproof files write it with extra or missing leading zeros. */
const scalar = (text: string) => hex(text.padStart(64, '0').slice(-64))

type Point = WycheproofCase & { public: string; private: string; shared: string }
type Jwk = WycheproofCase & { public: { crv: string; x: string; y: string }; private: { d: string }; shared: string }

export const pointFile = loadWycheproof<Point>('ecdh_secp256r1_ecpoint')
export const jwkFile = loadWycheproof<Jwk>('ecdh_secp256r1_webcrypto')

export const pointCases: readonly EcdhCase[] = pointFile.testGroups
  .flatMap(({ tests }) => tests)
  .map((it) => ({ ...it, point: hex(it.public), privateKey: scalar(it.private), curve: undefined }))

export const jwkCases: readonly EcdhCase[] = jwkFile.testGroups
  .flatMap(({ tests }) => tests)
  .map(({ public: { crv, x, y }, private: { d }, ...it }) => ({
    ...it,
    point: Buffer.concat([Uint8Array.of(4), base64url(x), base64url(y)]),
    privateKey: scalar(asHex(base64url(d))),
    curve: crv,
  }))

/** Case 347 is invalid only because its `crv` names another curve; our code takes points, which have no `crv`. */
export const skippedJwkIds: readonly number[] = [347]

/** Derives the shared secret as client and as server, or returns `refused` if the public key is invalid. */
function agree({ point, privateKey }: EcdhCase): { client: string; server: string } | 'refused' {
  const decoded = secure.decodePublicKey(secure.encodeBase64url(point))
  expect(isPublicKey(point)).toBe(decoded !== undefined)
  if (decoded === undefined) return 'refused'
  const client = asHex(secure.agreeAsClient(privateKey, decoded))
  return { client, server: asHex(secure.loadServerKey(privateKey).agree(decoded)) }
}

/** Finds cases whose valid key gives another secret at client or server, or whose invalid key is accepted. */
export function wrongCases(cases: readonly EcdhCase[]): string[] {
  const wrong = cases.filter((it) => {
    const agreed = agree(it)
    if (it.result !== 'valid') return agreed !== 'refused'
    return agreed === 'refused' || agreed.client !== it.shared || agreed.server !== it.shared
  })
  return wrong.map(({ tcId, comment }) => `${tcId} ${comment}`)
}

/** Selects every invalid case, and of the valid cases the first with each comment. */
export function oneOfEachKind(cases: readonly EcdhCase[]): EcdhCase[] {
  const first = new Map(cases.toReversed().map((it) => [it.comment, it]))
  return cases.filter((it) => it.result !== 'valid' || first.get(it.comment) === it)
}
