import http from 'node:http'
import net from 'node:net'
import { listen } from '../listen.js'
import { chunksOf } from '../server/request-body.js'

/** What the proxy does with a request: forward it, respond without the server or inject a fault. */
export type Meddling =
  | 'pass'
  /** Closes the client connection without a response. */
  | 'drop'
  /** Sends half of the response body and closes the client connection. */
  | 'cut'
  /** Keeps the connection open and never responds. */
  | 'hang'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body: string }
  /** Replaces the body of the server response. */
  | ((body: string) => string)

export interface RecordingProxy {
  readonly baseUrl: string
  /** Returns all bytes that clients have sent, in the order of arrival. */
  sent(): string
  /** Method and path of each request, such as `POST /api/v1/secure/dispatch`. */
  readonly requests: string[]
  meddle: (path: string) => Meddling
}

/** Starts a proxy that records every byte of its clients; `meddle` decides per path what happens. */
export async function recordingProxy(target: string): Promise<RecordingProxy> {
  const bytes: Buffer[] = []
  const { hostname, port } = new URL(target)
  const proxy = { requests: [] as string[], meddle: (_path: string): Meddling => 'pass' }

  const inside = http.createServer(async (request, response) => {
    const { method = '', url = '' } = request
    proxy.requests.push(`${method} ${url}`)
    const body = Buffer.concat(await chunksOf(request))
    const meddling = proxy.meddle(url)
    if (meddling === 'hang') return
    if (meddling === 'drop') return request.socket.destroy()
    if (typeof meddling === 'object') {
      return response.writeHead(meddling.status, meddling.headers).end(meddling.body)
    }
    // A local server accepts its own name only.
    const headers = { ...request.headers, host: new URL(target).host }
    const outer = http.request({ hostname, port, method, path: url, headers, agent: false }).end(body)
    outer.on('error', () => request.socket.destroy())
    outer.on('response', async (upstream) => {
      const whole = Buffer.concat(await chunksOf(upstream))
      const sent = typeof meddling === 'function' ? Buffer.from(meddling(whole.toString('utf8'))) : whole
      response.writeHead(upstream.statusCode ?? 0, { ...upstream.headers, 'content-length': String(sent.length) })
      if (meddling === 'cut') response.write(sent.subarray(0, sent.length / 2), () => request.socket.destroy())
      else response.end(sent)
    })
  })
  const insidePort = await listen(inside)

  const front = net.createServer((socket) => {
    const through = net.connect(insidePort, '127.0.0.1')
    socket.on('data', (chunk) => bytes.push(chunk))
    socket.pipe(through).pipe(socket)
    through.on('error', () => socket.destroy())
    through.on('close', () => socket.destroy())
    socket.on('close', () => through.destroy())
  })
  const baseUrl = `http://127.0.0.1:${await listen(front)}`
  return Object.assign(proxy, { baseUrl, sent: () => Buffer.concat(bytes).toString('latin1') })
}
