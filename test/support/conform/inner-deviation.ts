import { randomBytes } from 'node:crypto'
import type { Transport, TransportResponse } from '../../../src/client/transport.js'
import { makeClientKeyPair } from '../../../src/secure/client/key.js'
import {
  type Bootstrap,
  type ClientSession,
  readBootstrap,
  readSession,
} from '../../../src/secure/client/negotiation.js'
import { decodeBinary, type Envelope, open, parseEnvelope, seal } from '../../../src/secure/envelope.js'
import type { HttpResponse } from '../../../src/secure/http.js'
import { readInnerResponse, writeInnerResponse } from '../../../src/secure/inner-response.js'
import { deriveKeys, type SessionContext, type SessionKeys } from '../../../src/secure/key-schedule.js'
import { decodePublicKey } from '../../../src/secure/public-key.js'
import { loadServerKey, makeServerPrivateKey, nodeHkdf } from '../../../src/secure/server/key.js'
import { MAX_ENVELOPE_BYTES, MEDIA_TYPE, paths } from '../../../src/secure/suite.js'
import { decodeBase64url, encodeBase64url } from '../../../src/values/base64url.js'
import { asMembers, type Members, parseJson } from '../../../src/values/json.js'

interface Deviation {
  /** Changes the shared secret or what the keys are derived from. */
  readonly keys?: (secret: Uint8Array, context: SessionContext) => readonly [Uint8Array, SessionContext]
  /** Changes a call after its decryption. */
  readonly request?: (call: Members) => Members
  /** Changes a response before its encryption. */
  readonly response?: (response: HttpResponse) => HttpResponse
}

const members = (text: string | undefined): Members => asMembers(parseJson(text ?? '')) ?? {}

/** A platform that ends the encrypted sessions of its clients itself and has others with the reference. */
export const insideSessions =
  (deviation: Deviation) =>
  (reference: Transport): Transport => {
    const {
      keys = (...it) => it,
      request: changeRequest = (it) => it,
      response: changeResponse = (it) => it,
    } = deviation
    const own = loadServerKey(makeServerPrivateKey(randomBytes))
    const sessions = new Map<string, { readonly client: SessionKeys; readonly server: ClientSession }>()
    let known: Bootstrap | undefined

    const bootstrap = (response: TransportResponse): TransportResponse => {
      const read = readBootstrap(response, [])
      if (!read.ok || !read.enabled) return response
      known = read
      return {
        ...response,
        body: JSON.stringify({ ...members(response.body), kid: own.kid, serverPublicKey: own.publicKey }),
      }
    }

    return async (sent) => {
      if (sent.path === paths.bootstrap) return bootstrap(await reference(sent))
      const body = members(sent.body)
      const clientKey = decodePublicKey(String(body.clientPublicKey ?? body.publicKey))
      if (sent.path === paths.session && clientKey !== undefined && known !== undefined) {
        const pair = makeClientKeyPair(randomBytes)
        const { kid, ...rest } = body
        const toServer = { ...rest, clientPublicKey: encodeBase64url(pair.publicKey), publicKey: undefined }
        const named = kid === undefined ? {} : { kid: kid === own.kid ? known.kid : kid }
        const response = await reference({ ...sent, body: JSON.stringify({ ...toServer, ...named }) })
        const { origin = '' } = sent.headers
        const read = readSession(response, known, pair, { origin, serverNow: 0 })
        if (!read.ok) return response
        const { sid, brand } = read.session
        const salt = decodeBase64url(String(members(response.body).salt)) as Uint8Array
        const [secret, context] = keys(own.agree(clientKey), { sid, salt, brand, origin })
        sessions.set(sid, { client: deriveKeys(nodeHkdf, secret, context), server: read.session })
        return response
      }
      const isLarge = (sent.body ?? '').length > MAX_ENVELOPE_BYTES
      const parsed = sent.path === paths.dispatch && !isLarge ? parseEnvelope(body) : undefined
      const found = parsed?.ok ? sessions.get(parsed.message.sid) : undefined
      if (!parsed?.ok || found === undefined) return reference(sent)
      const { message } = parsed
      const plaintext = open(found.client.keyC2s, 'c2s', message)
      const head = { ...message, kid: message.kid === own.kid ? found.server.kid : message.kid }
      const call = plaintext && JSON.stringify(changeRequest(members(Buffer.from(plaintext).toString('utf8'))))
      // Without the client's key the reference gets the envelope as it is, and refuses it.
      const envelope: Envelope =
        call === undefined
          ? { ...(body as unknown as Envelope), kid: head.kid }
          : seal(found.server.keyC2s, 'c2s', head, randomBytes(12), call)
      const response = await reference({ ...sent, body: JSON.stringify(envelope) })
      const binary = decodeBinary(members(response.body))
      const opened = binary && open(found.server.keyS2c, 's2c', { ...head, ...binary })
      const inner = opened && readInnerResponse(opened)
      if (inner === undefined) return response
      const sealed = seal(
        found.client.keyS2c,
        's2c',
        message,
        randomBytes(12),
        writeInnerResponse(changeResponse(inner)),
      )
      return { status: 200, headers: { ...response.headers, 'content-type': MEDIA_TYPE }, body: JSON.stringify(sealed) }
    }
  }
