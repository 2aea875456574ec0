import * as secure from '../../../src/secure/index.js'
import { START_MS, seededRandom } from '../server/app.js'
import { ApiResponse, type Send, type WireRequest } from '../server/client.js'

export interface InnerCall {
  readonly method: string
  readonly path: string
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** An encrypted session without client logic, so that a test can alter any byte. */
export interface WireSession extends secure.ClientSession {
  /** Encrypts an API request as a dispatch request; `ts` is its timestamp in Unix ms. */
  seal(call: InnerCall | Uint8Array, ts?: number): WireRequest & { readonly body: string }
  /** Decrypts the response to `sent`. @throws if `outer` is an error or the response to another request */
  open(sent: WireRequest, outer: ApiResponse): ApiResponse
  /** Encrypts an API request, sends it and decrypts the response. */
  call(call: InnerCall | Uint8Array): Promise<ApiResponse>
}

let opened = 0

/** Negotiates an encrypted session over `send`. */
export async function wireSession(send: Send, { origin = '', now = () => START_MS } = {}): Promise<WireSession> {
  const random = seededRandom(`client ${++opened}`)
  const bootstrap = secure.readBootstrap(await exchange(send, secure.bootstrapRequest), [])
  if (!bootstrap.ok || !bootstrap.enabled) throw new Error('no transport')
  const pair = secure.makeClientKeyPair(random)
  const response = await exchange(send, secure.sessionRequest(bootstrap, pair, origin))
  const made = secure.readSession(response, bootstrap, pair, { origin, serverNow: now() })
  if (!made.ok) throw new Error(`${made.code} ${made.outerResponse?.body}`)
  const seal = (call: InnerCall | Uint8Array, ts = now()) => {
    const plaintext = call instanceof Uint8Array ? call : Buffer.from(JSON.stringify(call))
    const sealed = secure.sealRequest(plaintext, made.session, ts, random)
    if (!sealed.ok) throw new Error(sealed.code)
    return sealed.request as WireRequest & { readonly body: string }
  }
  const open = ({ body }: WireRequest, { status, headers, text }: ApiResponse) => {
    const inner = secure.openResponse({ status, headers, body: text }, JSON.parse(String(body)), made.session)
    if (!inner.ok) throw new Error(`${inner.code}: ${status} ${text}`)
    return new ApiResponse(inner.response.status, inner.response.headers, inner.response.body)
  }
  return {
    ...made.session,
    seal,
    open,
    call: async (call) => {
      const sent = seal(call)
      return open(sent, await send(sent))
    },
  }
}

async function exchange(send: Send, { method, path, headers, body }: secure.HttpRequest): Promise<secure.HttpResponse> {
  const response = await send({ method, path, headers, ...(body === undefined ? {} : { body }) })
  return { status: response.status, headers: response.headers, body: response.text }
}
