import { createServer } from 'node:http'
import { createHttpTransport } from '../../../src/client/http.js'
import { listen } from '../listen.js'
import { chunksOf } from '../server/request-body.js'
import type { Deviate } from './deviants.js'

/** Headers of one connection, which the other connection does not get. */
const ofConnection = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'])

const forwarded = (headers: Readonly<Record<string, string | string[] | undefined>>) =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || ofConnection.has(name) ? [] : [[name, String(value)] as const],
    ),
  )

/** Starts an HTTP server that behaves like the reference, but for the deviation. Returns its address. */
export async function serveDeviant(reference: string, deviate: Deviate): Promise<string> {
  const transport = deviate(createHttpTransport(reference))
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '' } = request
    const text = Buffer.concat(await chunksOf(request)).toString('utf8')
    const body = text === '' ? {} : { body: text }
    const {
      status,
      headers,
      body: sent,
    } = await transport({ method, path, headers: forwarded(request.headers), ...body })
    response.writeHead(status, { 'content-type': 'application/json', ...forwarded(headers) }).end(sent)
  })
  return `http://127.0.0.1:${await listen(server)}`
}
