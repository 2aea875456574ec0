import type { Transport } from '../../../client/transport.js'

/** What somebody between client and server would see. */
interface Wire {
  /** The same transport, watched. */
  around(transport: Transport): Transport
  /** `POST /api/v1/secure/dispatch, 612 bytes and 1034 back` */
  summary(): string
  /** True when one of the secrets was there in plain text. */
  readable(): boolean
}

export function watchWire(secrets: readonly string[]): Wire {
  const seen: string[] = []
  let last = ''
  return {
    around: (transport) => async (request) => {
      const response = await transport(request)
      const { method, path, headers, body = '' } = request
      seen.push(JSON.stringify([method, path, headers, body, response.headers, response.body]))
      last = `${method} ${path}, ${Buffer.byteLength(body)} bytes and ${Buffer.byteLength(response.body)} back`
      return response
    },
    summary: () => last,
    readable: () => seen.some((text) => secrets.some((it) => it !== '' && text.includes(it))),
  }
}
