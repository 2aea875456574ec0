import http from 'node:http'
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { callerOf } from '../support/server/client.js'
import { type StandaloneServer, standaloneServer } from '../support/server/server.js'

let published: Record<string, unknown>[] = []
let status = 200
/** Response body of the key set URL; undefined for the key set itself. */
let served: string | undefined
let reads = 0
const keySet = http.createServer((_request, response) => {
  reads += 1
  response.writeHead(status, { 'content-type': 'application/json' }).end(served ?? JSON.stringify({ keys: published }))
})

let server: StandaloneServer
let url: string
const keys = new Map<string, CryptoKey>()
const publicPem = new Map<string, string>()

beforeAll(async () => {
  for (const alg of ['RS256', 'ES256', 'Ed25519']) {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
    keys.set(alg, privateKey)
    publicPem.set(alg, await exportSPKI(publicKey))
    published.push({ ...(await exportJWK(publicKey)), kid: alg, alg, use: 'sig' })
  }
  keys.set('stranger', (await generateKeyPair('RS256')).privateKey)
  await new Promise<void>((resolve) => keySet.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(keySet.address() as { port: number }).port}/jwks`
  server = await standaloneServer({ jwksUrl: url })
})
afterAll(async () => {
  await server.close()
  keySet.closeAllConnections()
  await new Promise((resolve) => keySet.close(resolve))
})

const inAnHour = () => Math.floor(Date.now() / 1000) + 3_600
const claims = (overrides: object = {}) => ({ sub: 'acc', aud: 'voucher-console', exp: inAnHour(), ...overrides })
const sign = (alg: string, overrides: object = {}, header: object = {}) =>
  new SignJWT(claims(overrides)).setProtectedHeader({ alg, kid: alg, ...header }).sign(keys.get(alg) as CryptoKey)
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const read = async (jwt: string, to = server) => {
  const response = await callerOf(to.send, jwt)(contract.apps.list, {})
  return response.code ?? response.status
}

describe('accounts with an external key set', () => {
  it('external key set is read again after the clock was set back', async () => {
    const trueNow = Date.now
    try {
      Date.now = () => trueNow() + 86_400_000
      expect(await read(await sign('ES256'))).toBe(200)
      const before = reads
      expect(await read(await sign('ES256'))).toBe(200)
      expect(reads).toBe(before)
      Date.now = trueNow
      expect(await read(await sign('ES256'))).toBe(200)
      expect(reads).toBe(before + 1)
      expect(await read(await sign('ES256'))).toBe(200)
      expect(reads).toBe(before + 1)
    } finally {
      Date.now = trueNow
    }
  })

  it.each(['RS256', 'ES256', 'Ed25519'])('JWT signed with the algorithm %s is accepted', async (alg) =>
    expect(await read(await sign(alg))).toBe(200),
  )

  it('account id of a JWT from an external issuer is its subject', async () => {
    const [one, two] = [await sign('ES256', { sub: 'one' }), await sign('ES256', { sub: 'two' })]
    const { data } = await callerOf(server.send, one)(contract.apps.create, { name: 'Shop' })
    expect((await callerOf(server.send, one)(contract.apps.get, { appId: data.id })).status).toBe(200)
    expect((await callerOf(server.send, two)(contract.apps.get, { appId: data.id })).status).toBe(404)
  })

  it('expired JWT from an external issuer is refused as TOKEN_EXPIRED', async () =>
    expect(await read(await sign('RS256', { exp: inAnHour() - 7_200 }))).toBe('TOKEN_EXPIRED'))

  it.each([
    ['another audience', { aud: 'shop' }],
    ['no audience', { aud: undefined }],
    ['no expiry', { exp: undefined }],
    ['no subject', { sub: undefined }],
  ])('JWT from an external issuer with %s is refused', { tags: 'account-tokens/2' }, async (_what, overrides) =>
    expect(await read(await sign('RS256', overrides))).toBe('TOKEN_INVALID'),
  )

  it('JWT signed with a key outside the external key set is refused', async () => {
    const stranger = keys.get('stranger') as CryptoKey
    const jwt = (kid: string) => new SignJWT(claims()).setProtectedHeader({ alg: 'RS256', kid }).sign(stranger)
    expect(await read(await jwt('nobody'))).toBe('TOKEN_INVALID')
    expect(await read(await jwt('RS256'))).toBe('TOKEN_INVALID')
  })

  it('unsigned JWT (alg none) is refused', async () =>
    expect(await read(`${encode({ alg: 'none', kid: 'RS256' })}.${encode(claims())}.`)).toBe('TOKEN_INVALID'))

  it('JWT signed by HS256 with the public key as secret is refused', { tags: 'account-tokens/2' }, async () => {
    for (const kid of ['RS256', 'ES256']) {
      const secret = Buffer.from(publicPem.get(kid) as string)
      const jwt = await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid }).sign(secret)
      expect(await read(jwt)).toBe('TOKEN_INVALID')
    }
  })

  it('JWT is refused if only the key in its own header matches the signature', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
    const header = { alg: 'ES256', kid: 'ES256', jwk: await exportJWK(publicKey), jku: 'http://127.0.0.1:1/' }
    expect(await read(await new SignJWT(claims()).setProtectedHeader(header).sign(privateKey))).toBe('TOKEN_INVALID')
  })

  it('operator cannot issue account tokens beside an external key set', { tags: 'account-tokens/1' }, async () => {
    const operator = callerOf(server.send, server.operatorKey)
    const response = await operator(contract.platform.issueAccountToken, { accountId: 'acc' })
    expect(response).toMatchObject({ status: 400, code: 'VALIDATION_FAILED' })
    expect(response.details.errors).toMatchObject([{ code: 'jwks' }])
  })

  it('unreadable external key set causes 503 until it is readable again', { tags: 'account-tokens/2' }, async () => {
    const other = await standaloneServer({ jwksUrl: url })
    try {
      const jwt = await sign('RS256')
      status = 500
      expect(await read(jwt, other)).toBe('SERVICE_UNAVAILABLE')
      status = 200
      const keysBefore = published
      published = []
      expect(await read(jwt, other)).toBe('TOKEN_INVALID')
      published = keysBefore
    } finally {
      status = 200
      await other.close()
    }
  })

  it('unreachable external key set causes 503 and one log line without its URL', async () => {
    const other = await standaloneServer({ jwksUrl: 'http://127.0.0.1:1/jwks?secret=s3cret' })
    for (let call = 0; call < 3; call++) expect(await read(await sign('RS256'), other)).toBe('SERVICE_UNAVAILABLE')
    const lines = other.logs.filter((line) => line.includes('key set'))
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ level: 40, reason: expect.any(String) }])
    expect(other.logs.join('')).not.toContain('s3cret')
    await other.close()
  })

  it.each([
    ['HTML', '<html>', 'SyntaxError'],
    ['another object', '{"key":[]}', 'not a key set'],
    ['keys that are null', '{"keys":[null]}', 'not a key set'],
  ])('external key set URL that returns %s causes 503', async (_what, text, reason) => {
    served = text
    const other = await standaloneServer({ jwksUrl: url })
    try {
      expect(await read(await sign('RS256'), other)).toBe('SERVICE_UNAVAILABLE')
      const line = other.logs.find((it) => it.includes('key set')) as string
      expect(JSON.parse(line)).toMatchObject({ reason })
    } finally {
      served = undefined
      await other.close()
    }
  })

  it.each([
    ['an RSA key with a malformed modulus', { kty: 'RSA', n: '!', e: 'AQAB' }],
    ['a key too short to be safe', { kty: 'RSA', n: Buffer.alloc(64, 255).toString('base64url'), e: 'AQAB' }],
    ['a key without its members', { kty: 'RSA' }],
    ['a private key', 'private'],
  ])('JWT is refused with 401 if its key in the external key set is %s', async (_what, jwk) => {
    const key =
      jwk === 'private' ? await exportJWK((await generateKeyPair('RS256', { extractable: true })).privateKey) : jwk
    published = [...published, { ...(key as object), kid: 'bad', alg: 'RS256', use: 'sig' }]
    const other = await standaloneServer({ jwksUrl: url, rateLimits: { auth_failures: { calls: 2, seconds: 60 } } })
    try {
      const forged = await new SignJWT(claims())
        .setProtectedHeader({ alg: 'RS256', kid: 'bad' })
        .sign(keys.get('stranger') as CryptoKey)
      expect(await read(forged, other)).toBe('TOKEN_INVALID')
      expect(await read(forged, other)).toBe('TOKEN_INVALID')
      expect(await read(forged, other)).toBe('RATE_LIMITED')
      expect(await read(await sign('RS256'), other)).toBe(200)
      expect(other.logs.filter((line) => line.includes('key set'))).toEqual([])
    } finally {
      published = published.slice(0, -1)
      await other.close()
    }
  })
})
