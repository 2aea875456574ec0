import { STATUS_CODES } from 'node:http'
import { withoutToken } from '../../../client/failure.js'
import { parseBody } from '../../../client/response.js'
import type { TransportResponse } from '../../../client/transport.js'
import type { Context } from '../../command/context.js'
import type { ApiRoute } from '../../command/known-routes.js'
import { type AnyCall, type CallExchange, isBare } from '../../command/send.js'
import { fromCall } from '../../failures/call-failure.js'
import { exitOf } from '../../failures/codes.js'
import type { Failure } from '../../failures/failure.js'
import type { Outcome } from '../../output/outcome.js'
import { plain } from '../../output/text.js'

/** Returns the data of a successful response, or its failure. */
export function showData({ method, route }: AnyCall, { result, response, facts }: CallExchange): Outcome<unknown> {
  if (result.ok) return { ok: true, data: result.data, ...(method === 'GET' ? { reads: true } : {}) }
  const failure = fromCall(result, facts)
  if (response === undefined || !isText(route, response)) return failure
  const type = response.headers['content-type'] ?? 'no content type'
  if (type.startsWith('application/x-ndjson')) return { ok: true, lines: linesOf(response.body) }
  const message = `The server responded with ${response.status} and ${type}, which is not JSON.`
  return { ...failure, message, hint: 'Add -i to print it as it is.' }
}

/** True for the successful response of a route that does not return JSON: metrics, or a stream. */
const isText = (route: ApiRoute | undefined, { status }: TransportResponse) =>
  status >= 200 && status <= 299 && (isBare(route) || route?.streams === true)

async function* linesOf(body: string): AsyncGenerator<unknown, Failure | undefined> {
  for (const line of body.split('\n')) if (line.trim() !== '') yield parsed(line)
  return undefined
}

/** True if flags select a format, fields or a filter, which need parsed data instead of the raw response. */
export function isDataAskedFor({ settings, output }: Context): boolean {
  const { fields, filter } = output.options
  return settings.format.source !== 'default' || fields !== undefined || filter !== undefined
}

/** Prints the whole response for `-i`, even of a failed call, without the credential. */
export function showWhole(
  context: Context,
  { route }: AnyCall,
  { result, credential }: CallExchange,
  response: TransportResponse,
): Outcome<unknown> {
  const { output, host } = context
  const { status, headers, body } = withoutToken(response, credential)
  const exit = result.ok || isText(route, response) ? 0 : exitOf(fromCall(result))
  if (isDataAskedFor(context)) {
    return { ok: true, data: { status, headers, body: parsed(body) }, exit }
  }
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  output.printBytes(Buffer.from(`${lines.map((it) => plain(it).trimEnd()).join('\n')}\n\n`))
  const isTerminal = host.stdout.isTTY === true
  const shown = isTerminal ? `${plain(body)}${body.endsWith('\n') ? '' : '\n'}` : body
  // Print the bytes as received unless the credential was removed from the text.
  output.printBytes(shown === response.body && response.bytes !== undefined ? response.bytes : Buffer.from(shown))
  return { ok: true, printed: true, exit }
}

/** Parses a text as JSON; returns text that is not JSON unchanged. */
function parsed(text: string): unknown {
  const value = parseBody(text)
  return value === undefined ? text : value
}
