import type { IncomingMessage, ServerResponse } from 'node:http'
import { failures, type Refusal, refuse } from '../contract/errors.js'
import { type PageResponse, platformHeaders } from './assets.js'
import { type Inspector, isPagePath, isPlatformPath, pathOf } from './inspector.js'

/** Maximum bytes of a body: a ticket and the rest of its JSON document. */
const BODY_BYTES_MAX = 1_024

/**
 * Serves the page on a plain Node server. Refuses other requests unless they have a page session and a path below
 * /_platform; for those it returns false, and the server handles them.
 */
export async function servePage(
  inspector: Inspector,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const target = request.url ?? ''
  const result = inspector.refuse(request) ?? (isPagePath(target) ? await respond() : refuseOther())
  if (result === undefined) return false
  send(response, 'ok' in result ? failureResponse(result) : result)
  return true

  function refuseOther(): Refusal | undefined {
    return isPlatformPath(target) ? inspector.refuseSession(request) : refuse('ROUTE_NOT_FOUND')
  }

  async function respond(): Promise<PageResponse | Refusal> {
    const { method } = request
    const path = pathOf(target)
    if (method === 'POST' && (path === '/_platform/ui/session' || path === '/_platform/ui/proof')) {
      if (!isJson(request)) return refuse('UNSUPPORTED_MEDIA_TYPE')
      const body = await readJson(request)
      if (body === undefined) return refuse('INVALID_JSON')
      return path.endsWith('/proof') ? inspector.prove(body) : inspector.startSession(body)
    }
    return method === 'GET' || method === 'HEAD' ? inspector.get(request) : refuse('METHOD_NOT_ALLOWED')
  }
}

/** True for the content type of JSON, which another site cannot send without a CORS preflight. */
export const isJson = ({ headers }: IncomingMessage): boolean =>
  headers['content-type']?.split(';', 1)[0]?.trim() === 'application/json'

async function readJson(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = []
  let length = 0
  try {
    for await (const piece of request) {
      length += (piece as Buffer).length
      if (length > BODY_BYTES_MAX) return undefined
      pieces.push(piece as Buffer)
    }
    return JSON.parse(Buffer.concat(pieces).toString('utf8'))
  } catch {
    return undefined
  }
}

function failureResponse({ code, details }: Refusal): PageResponse {
  const { status, message, retryable } = failures[code]
  const headers = { ...platformHeaders, 'content-type': 'application/json; charset=utf-8' }
  return { status, headers, body: JSON.stringify({ success: false, code, message, retryable, details }) }
}

function send(response: ServerResponse, { status, headers, body }: PageResponse): void {
  // The rest of a refused body is unread, so close the connection.
  const { complete, method } = response.req
  response.writeHead(status, { ...headers, ...(complete ? {} : { connection: 'close' }) })
  response.end(method === 'HEAD' ? '' : body)
}
