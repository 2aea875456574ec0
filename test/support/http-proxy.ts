import { createServer, request as forward } from 'node:http'
import { connect } from 'node:net'
import { listen } from './listen.js'

interface Received {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: Readonly<Record<string, unknown>>
}

/** An HTTP proxy that reaches every host at `port` of 127.0.0.1, and refuses calls without `credentials`. */
export async function httpProxy(port: number, credentials?: string) {
  const received: Received[] = []
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
  const isRefused = (headers: Received['headers']) => headers['proxy-authorization'] !== expected
  const server = createServer((incoming, response) => {
    const { method, url, headers } = incoming
    received.push({ method, url, headers })
    // A careless proxy repeats the request.
    if (isRefused(headers)) return void response.writeHead(407).end(JSON.stringify(headers))
    if (new URL(url ?? '').pathname.endsWith('/broken'))
      return void response.writeHead(502).end(`Bad gateway ${JSON.stringify(headers)} ${credentials}`)
    const { pathname, search } = new URL(url ?? '')
    const onward = forward({ port, method, headers, path: pathname + search, host: '127.0.0.1' }, (reply) => {
      response.writeHead(reply.statusCode ?? 0, reply.headers)
      reply.pipe(response)
    })
    onward.on('error', () => response.destroy())
    incoming.pipe(onward)
  })
  server.on('connect', ({ method, url, headers }, client) => {
    received.push({ method, url, headers })
    if (isRefused(headers)) return void client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    for (const end of [client, upstream]) end.on('error', () => [client, upstream].map((it) => it.destroy()))
  })
  const user = credentials === undefined ? '' : `${credentials.split(':').map(encodeURIComponent).join(':')}@`
  const own = await listen(server)
  return { received, url: `http://${user}127.0.0.1:${own}`, origin: `http://127.0.0.1:${own}` }
}
