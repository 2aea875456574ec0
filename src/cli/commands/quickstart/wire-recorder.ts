import type { Transport } from '../../../client/transport.js'

/** Records the bytes of a transport that an eavesdropper would see. */
export class WireRecorder {
  readonly #seen: string[] = []
  /** Describes the last exchange, such as `POST /api/v1/secure/dispatch, 612 bytes and 1034 back`. */
  summary = ''

  around(transport: Transport): Transport {
    return async (request) => {
      const response = await transport(request)
      const { method, path, headers, body = '' } = request
      this.#seen.push(JSON.stringify([method, path, headers, body, response.headers, response.body]))
      this.summary = `${method} ${path}, ${Buffer.byteLength(body)} bytes and ${Buffer.byteLength(response.body)} back`
      return response
    }
  }

  /** True if a request or response contains one of these texts unencrypted. */
  hasReadable(texts: readonly string[]): boolean {
    return this.#seen.some((it) => texts.some((text) => it.includes(text)))
  }
}
