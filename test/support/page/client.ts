import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { ActivityLine } from '../../../src/contract/platform/activity.js'

interface PageResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The `data` of a success, else the whole document; a text if it is no JSON. */
  readonly body: never
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface PageClient {
  readonly origin: string
  /** Empty before the session. */
  readonly token: string
  /** Sends a request with the headers that the page in a browser sends, unless `headers` replaces them. */
  send(method: string, path: string, sent?: Sent): Promise<PageResponse>
  /** Follows an NDJSON stream; `next` resolves with its next line. */
  follow(path: string): Promise<{ next(): Promise<ActivityLine>; close(): void }>
}

/** Opens the link of a page as a browser does, and returns what then calls the API with the page's token. */
export async function pageClient(link: string): Promise<PageClient> {
  const { origin, hash } = new URL(link)
  const base: Record<string, string> = { origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
  const client = clientOf(origin, base)
  const ticket = new URLSearchParams(hash.slice(1)).get('ticket')
  const { body, status } = await client.send('POST', '/_platform/ui/session', { body: { ticket } })
  if (status !== 200) throw new Error(`the page got no session: ${status}`)
  return clientOf(origin, { ...base, 'page-token': (body as { token: string }).token })
}

function clientOf(origin: string, base: Readonly<Record<string, string>>): PageClient {
  const open = (method: string, path: string, { headers, body }: Sent = {}) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      // A connection for each request: one that stays open would prolong the session.
      const sent = request(`${origin}${path}`, { method, headers: { ...base, ...headers }, agent: false }, resolve)
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  return {
    origin,
    token: base['page-token'] ?? '',
    async send(method, path, sent) {
      const response = await open(method, path, sent)
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      const isJson =
        /json/.test(response.headers['content-type'] ?? '') && !/ndjson/.test(response.headers['content-type'] ?? '')
      const document = isJson ? JSON.parse(text) : text
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: (isJson && document.success === true ? document.data : document) as never,
      }
    },
    async follow(path) {
      const response = await open('GET', path)
      const pieces = response.setEncoding('utf8')[Symbol.asyncIterator]()
      const lines: string[] = []
      let rest = ''
      return {
        async next() {
          while (lines.length === 0) {
            const { done, value } = await pieces.next()
            if (done) throw new Error('the stream has ended')
            const parts = (rest + value).split('\n')
            rest = parts.pop() ?? ''
            lines.push(...parts)
          }
          return JSON.parse(lines.shift() as string)
        },
        close: () => response.destroy(),
      }
    },
  }
}
