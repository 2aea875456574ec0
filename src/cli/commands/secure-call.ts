import type { PreparedCall } from '../../client/prepare.js'
import type { CredentialKind, Endpoint } from '../../contract/endpoint.js'
import { isLogicalPath } from '../../secure/inner-request.js'
import type { Context } from '../context.js'
import { bannerOf, refuseImpostor } from '../context.js'
import type { Failure } from '../failure.js'
import { fail, fromCall, usage } from '../failure.js'
import { readTextFile } from '../files.js'
import { choice, pairs, text } from '../flags.js'
import type { Outcome } from '../leaf.js'
import { leaf } from '../leaf.js'
import { openInMode, withRepeats } from '../opening.js'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

export const secureCall = leaf({
  name: 'call',
  summary: 'Make any call through the encrypted transport',
  notes: [
    'Always encrypted, whatever --secure says. The credential follows the path; --as names its kind for a path that is not known here. Calls that take an Idempotency-Key get one.',
    'The path is the logical one, without a query: /api/v1/ and segments of letters, digits and . _ ~ -',
  ],
  positional: { name: 'METHOD', summary: methods.join(', '), ask: 'Method' },
  second: { name: 'PATH', summary: 'Logical path, /api/v1/…', ask: 'Path' },
  flags: {
    body: text('FILE|-', 'JSON of the body'),
    query: pairs('Member of the query'),
    as: choice(['token', 'bot', 'jwt'], 'Kind of the credential'),
  },
  examples: [
    { command: 'voucherctl secure call GET /api/v1/open-platform/vouchers/templates --query limit=5' },
    { command: 'voucherctl secure call POST /api/v1/open-platform/vouchers/verify --body verify.json' },
  ],
  changes: true,
  idempotent: true,
  run: async (context, { positional, second: path, flags }): Promise<Outcome<unknown>> => {
    const method = positional.toUpperCase()
    if (!methods.includes(method)) return usage(`METHOD must be one of ${methods.join(', ')}.`)
    if (!isLogicalPath(path)) {
      const hint = path.includes('?') ? 'The query goes into --query NAME=VALUE.' : null
      return usage('PATH must be a logical path: /api/v1/ and segments of letters, digits and . _ ~ -', hint)
    }
    const endpoint = await findEndpoint(method, path)
    const kind = flags.as ?? endpoint?.caller
    if (kind === undefined)
      return usage(`${method} ${path} is not known here.`, 'Say with --as which credential it takes.')
    const body = await readBody(context, flags.body)
    if (!body.ok) return body
    return send(context, { method, path, query: flags.query ?? {}, body: body.text, kind, endpoint })
  },
})

interface Wanted {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly kind: CredentialKind
  readonly endpoint: Endpoint | undefined
}

async function send(context: Context, wanted: Wanted): Promise<Outcome<unknown>> {
  const { settings, host } = context
  const base = context.baseUrl()
  if (!base.ok) return base
  const credential = await context.credential(wanted.kind, base.value)
  if (!credential.ok) return credential
  const prepared = prepare(context, wanted, credential.value)
  if (context.dryRun) {
    const { planRequest } = await import('../dry-run.js')
    const id = wanted.endpoint?.id ?? 'secure.call'
    const { origin } = settings.secure
    return { ok: false, plan: [await planRequest(base.value, prepared.request, 'required', origin.value, id)] }
  }
  const impostor = await refuseImpostor(settings, base.value)
  if (impostor !== undefined) return impostor
  bannerOf(context, base.value)
  const { sendPrepared } = await import('../calling.js')
  const transport = await withRepeats(context, await openInMode(context, base.value, 'required'))
  const limits = { signal: host.signal, timeoutMs: settings.timeoutMs.value }
  const result = await sendPrepared<unknown>(transport, { ...prepared, request: { ...prepared.request, ...limits } })
  return result.ok ? { ok: true, data: result.data } : fromCall(result)
}

function prepare({ globals, host }: Context, wanted: Wanted, token: string): PreparedCall {
  const { method, path, query, body, endpoint } = wanted
  const search = new URLSearchParams(query)
  const key = globals['idempotency-key'] ?? (endpoint?.idempotent ? host.newId() : undefined)
  const mutates = method !== 'GET' && endpoint?.repeatable !== true
  return {
    ok: true,
    request: {
      method,
      path: search.size > 0 ? `${path}?${search}` : path,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      repeatable: !mutates || key !== undefined,
      ...(body === undefined ? {} : { body }),
    },
    token,
    mutates,
    key: key === undefined ? {} : { idempotencyKey: key },
  }
}

/** The endpoint of the interface that a path belongs to; of two, the one with fewer parameters. */
async function findEndpoint(method: string, path: string): Promise<Endpoint | undefined> {
  const { endpoints } = await import('../../contract/index.js')
  const segments = path.split('/')
  const fitting = endpoints.filter((it) => {
    const pattern = it.path.split('/')
    const fits = (part: string, i: number) => part.startsWith(':') || part === segments[i]
    return it.method === method && pattern.length === segments.length && pattern.every(fits)
  })
  const parameters = (it: Endpoint) => it.path.split(':').length
  return fitting.sort((a, b) => parameters(a) - parameters(b))[0]
}

type Body = { readonly ok: true; readonly text: string | undefined } | Failure

async function readBody({ host, globals }: Context, file: string | undefined): Promise<Body> {
  if (file === undefined) return { ok: true, text: undefined }
  if (file === '-' && globals['token-file'] === '-') return usage('--body and --token-file cannot both read stdin.')
  const read = await readTextFile(host, file)
  if (!read.ok) return read
  try {
    JSON.parse(read.text)
  } catch {
    return fail('INVALID_INPUT', `${file === '-' ? 'Standard input' : file} does not hold JSON.`)
  }
  return read
}
