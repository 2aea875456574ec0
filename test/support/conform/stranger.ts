import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import { listen } from '../listen.js'

// Written from the public interface alone: it shares nothing with the reference or its deviant servers.

interface Call {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}
type Forward = (call: Call) => Promise<Reply>
/** Responds to a call, with the help of a platform that keeps the rules. */
type Deviation = (call: Call, forward: Forward, own: string) => Promise<Reply>

/** Starts the platform of a stranger before one that keeps the rules. Returns its address. */
export async function startStranger(kept: string, deviation: Deviation): Promise<string> {
  let own = ''
  const server = createServer(async (incoming, outgoing) => {
    const { method = '', url: path = '', headers } = incoming
    const call = { method, path, headers, body: await textOf(incoming) }
    const { status, headers: received, body } = await deviation(call, (it) => send(kept, it), own)
    outgoing.writeHead(status, { ...received, 'content-length': Buffer.byteLength(body) }).end(body)
  })
  own = `http://127.0.0.1:${await listen(server)}`
  return own
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

const send = (to: string, { method, path, headers, body }: Call): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const { 'content-length': _, 'transfer-encoding': __, ...rest } = headers
    const length = body === '' ? {} : { 'content-length': Buffer.byteLength(body) }
    const sent = request(`${to}${path}`, {
      method,
      headers: { ...rest, host: new URL(to).host, ...length },
      agent: false,
    })
    sent.on('error', reject)
    sent.on('response', async (response) => {
      const { 'transfer-encoding': ___, ...received } = response.headers
      resolve({ status: response.statusCode ?? 0, headers: received, body: await textOf(response) })
    })
    sent.end(body)
  })

// biome-ignore lint/suspicious/noExplicitAny: JSON of any call
type Json = any
const jsonOf = (text: string): Json => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
const changed = (message: Call, change: (body: Json) => Json): Call => ({
  ...message,
  body: JSON.stringify(change(jsonOf(message.body))),
})
const bearerOf = ({ headers }: Call) => headers.authorization ?? ''
const runtime = '/api/v1/open-platform/vouchers/'

/** Responds to a refused repetition with the first success of the same path and credential. */
function succeedsAgain(end: string): Deviation {
  const first = new Map<string, Reply>()
  return async (call, forward) => {
    const reply = await forward(call)
    if (call.method !== 'POST' || !call.path.endsWith(end)) return reply
    const what = `${call.path} ${JSON.stringify(jsonOf(call.body).credential)}`
    if (reply.status < 300) first.set(what, reply)
    return reply.status === 409 ? (first.get(what) ?? reply) : reply
  }
}

/** Looks up every object with the tokens of all applications. */
function sharesObjects(): Deviation {
  const tokens = new Set<string>()
  return async (call, forward) => {
    const reply = await forward(call)
    if (!call.path.startsWith(runtime)) return reply
    tokens.add(bearerOf(call))
    for (const authorization of reply.status === 404 ? tokens : []) {
      const other = await forward({ ...call, headers: { ...call.headers, authorization } })
      if (other.status < 300) return other
    }
    return reply
  }
}

const verifyBurns: Deviation = async (call, forward) => {
  const reply = await forward(call)
  if (call.path !== `${runtime}verify` || reply.status !== 200) return reply
  const headers = { ...call.headers, 'idempotency-key': `burn-${Math.random()}` }
  await forward({ ...call, headers, path: `${runtime}redeem` })
  return reply
}

const oneMore: Deviation = (call, forward) =>
  forward(
    call.method === 'POST' && call.path === `${runtime}templates`
      ? changed(call, (it) => ({ ...it, issue_limit: it.issue_limit + 1 }))
      : call,
  )

const noReplayHeader: Deviation = async (call, forward) => {
  const { headers, ...reply } = await forward(call)
  const { 'idempotent-replayed': _, ...rest } = headers
  return { ...reply, headers: rest }
}

const noCode: Deviation = async (call, forward) => {
  const reply = await forward(call)
  const { code: _, ...json } = jsonOf(reply.body)
  return reply.status < 400 ? reply : { ...reply, body: JSON.stringify(json) }
}

/** Lists the tokens with their values. */
function listsSecrets(): Deviation {
  const values = new Map<string, string>()
  return async (call, forward) => {
    const reply = await forward(call)
    if (!/\/tokens(\?|$)/.test(call.path) || reply.status > 299) return reply
    const { data, ...json } = jsonOf(reply.body)
    if (typeof data.token === 'string') values.set(data.id, data.token)
    const items = data.items?.map((it: Json) => ({ ...it, token: values.get(it.id) }))
    return { ...reply, body: JSON.stringify({ ...json, data: items === undefined ? data : { ...data, items } }) }
  }
}

/** Revokes a token in its records only: the calls of one that was revoked use another one. */
function keepsRevoked(): Deviation {
  const tokens = new Set<string>()
  return async (call, forward) => {
    const reply = await forward(call)
    if (!call.path.startsWith(runtime)) return reply
    if (reply.status < 300) tokens.add(bearerOf(call))
    for (const authorization of jsonOf(reply.body).code === 'TOKEN_REVOKED' ? tokens : []) {
      const other = await forward({ ...call, headers: { ...call.headers, authorization } })
      if (other.status < 300) return other
    }
    return reply
  }
}

const allScopes = ['read', 'templates:write', 'issue', 'verify', 'redeem', 'reverse'].map((it) => `vouchers:${it}`)
/** Grants every scope to every token, and shows those that were requested. */
const ignoresScopes: Deviation = async (call, forward) => {
  const { scopes } = jsonOf(call.body)
  const isToken = call.method === 'POST' && /\/tokens$/.test(call.path) && Array.isArray(scopes) && scopes.length > 0
  if (!isToken || !scopes.every((it) => allScopes.includes(it))) return forward(call)
  const reply = await forward(changed(call, (it) => ({ ...it, scopes: allScopes })))
  const json = jsonOf(reply.body)
  return reply.status < 300 ? { ...reply, body: JSON.stringify({ ...json, data: { ...json.data, scopes } }) } : reply
}

/** Receives the deliveries itself, and sends them on with a signature of other bytes. */
function signsOtherBytes(): Deviation {
  let receiver = ''
  return async (call, forward, own) => {
    const signature = call.headers['x-platform-signature-v2']
    if (typeof signature === 'string') {
      const other = signature.replaceAll(/[0-9a-f]/g, (it) => (15 - Number.parseInt(it, 16)).toString(16))
      return send(receiver, { ...call, headers: { ...call.headers, 'x-platform-signature-v2': other } })
    }
    const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(call.body) ?? []
    if (origin !== undefined) receiver = origin
    const reply = await forward(origin === undefined ? call : { ...call, body: call.body.replaceAll(origin, own) })
    return receiver === '' ? reply : { ...reply, body: reply.body.replaceAll(own, receiver) }
  }
}

const ignoresOffset: Deviation = (call, forward) =>
  forward(call.path.endsWith('/getUpdates') ? changed(call, ({ offset: _, ...it }) => it) : call)

/** Twelve deviations, and the rule that a report must name for each of them alone. */
export const deviations: readonly (readonly [what: string, rule: string, plant: () => Deviation])[] = [
  ['every application reaches the objects of all others', 'tenants', sharesObjects],
  ['verify burns the voucher', 'verify', () => verifyBurns],
  ['a second redemption succeeds', 'redemptions', () => succeedsAgain('/redeem')],
  ['a second reversal succeeds', 'reversal', () => succeedsAgain('/reverse')],
  ['a template issues one voucher too many', 'issue', () => oneMore],
  ['replays have no header', 'idempotency-keys', () => noReplayHeader],
  ['refusals have no code', 'envelope', () => noCode],
  ['the list of tokens shows their values', 'application-tokens', listsSecrets],
  ['a revoked token still works', 'application-tokens', keepsRevoked],
  ['scopes are not enforced', 'scopes', () => ignoresScopes],
  ['deliveries have a wrong signature', 'signatures', signsOtherBytes],
  ['polls ignore their offset', 'polling', () => ignoresOffset],
]

/** Passes every call on unchanged. */
export const noDeviation: Deviation = (call, forward) => forward(call)
