import { isSecured } from '../../../client/secure.js'
import type { SecureMode } from '../../../secure/client/options.js'
import { readPath, withoutQuery, withQuery } from '../../command/call-path.js'
import type { Context } from '../../command/context.js'
import { findRoute, methods } from '../../command/known-routes.js'
import { type Entry, type Group, leaf } from '../../command/leaf.js'
import { type AnyCall, prepareAny, sendAny } from '../../command/send.js'
import { fromCall } from '../../failures/call-failure.js'
import { type Failure, usage } from '../../failures/failure.js'
import { choice, excluding, list, text, toggle, type ValuesOf, withLetter } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { readJsonBody } from './body.js'
import { documentOf, readFields, readsStdin } from './field-arguments.js'
import { routes } from './routes.js'
import { isDataAskedFor, showData, showWhole } from './show.js'

const flags = {
  field: withLetter('F', list('NAME=VALUE', 'Typed member of the body, of a GET of its query')),
  'raw-field': withLetter('f', list('NAME=VALUE', 'The same as text')),
  input: excluding(text('FILE|-', 'JSON of the whole body'), 'field', 'raw-field'),
  as: choice(['token', 'bot', 'jwt', 'operator', 'none'], 'Kind of the credential'),
  include: withLetter('i', toggle('Print status line, headers and the whole body')),
  all: excluding(toggle('Every page of a list'), 'include', 'curl'),
  curl: toggle('Print a command with curl that makes this call; send nothing'),
}

const apiCall = leaf({
  name: 'api',
  summary: 'Call any route and print the data of its response as JSON',
  notes: [
    'PATH lies under /api/v1 unless it begins with /api/v1, /_platform/v1, /healthz, /readyz or /metrics; its first slash may be left out. `voucherctl api routes` lists every route. The credential follows the route; --as names its kind for a path that is not known here. Calls that take an Idempotency-Key get one.',
    'With -F, numbers, true, false and null are sent as JSON values, and @FILE sends the content of the file, less one final newline. a.b=c and a[b]=c go inside, a[]=x adds to a list, a[] alone is an empty one. With -f everything is text. In the query of a GET the names stay as they are typed.',
    '-i also prints responses that fail or are not JSON; the exit code stays. --curl has variables where tokens, codes and secrets belong: with those set, the command gets the same response in bash.',
  ],
  positional: { name: 'METHOD', summary: methods.join(', '), ask: 'Method', choices: methods },
  second: { name: 'PATH', summary: 'Such as /open-platform/vouchers/templates?limit=5', ask: 'Path' },
  flags,
  examples: [
    'voucherctl api GET /open-platform/vouchers/templates -F limit=5',
    "voucherctl api POST /open-platform/applications -F name=Shop -F 'allowed_origins[]=*'",
    'voucherctl api POST /open-platform/vouchers/verify --input verify.json --curl',
    'voucherctl api GET /metrics -i',
  ],
  json: true,
  changes: true,
  idempotent: true,
  run: async (context, { positional, second: path, flags }): Promise<Outcome<unknown>> => {
    const read = await readCall(context, positional, path, flags)
    if (!read.ok) return read
    const { call } = read
    const mode = call.route?.negotiates ? 'off' : context.settings.secure.mode.value
    if (flags.all) return showAll(context, call, mode)
    if (flags.curl) return showCurl(context, call, mode, flags)
    const sent = await sendAny(context, call, mode)
    if (!sent.ok) return sent
    return flags.include && sent.response !== undefined
      ? showWhole(context, call, sent, sent.response)
      : showData(call, sent)
  },
})

/** Builds the call from arguments and flags (rules/cli.md#api). It checks the arguments before it reads a file. */
async function readCall(
  context: Context,
  typedMethod: string,
  typedPath: string,
  { field: typedFields, 'raw-field': rawFields, input, as }: ValuesOf<typeof flags>,
): Promise<{ readonly ok: true; readonly call: AnyCall } | Failure> {
  const method = typedMethod.toUpperCase()
  if (!methods.includes(method))
    return usage(`METHOD must be one of ${methods.join(', ')}.`, '`voucherctl api routes` lists the routes.')
  const read = readPath(typedPath)
  if (!read.ok) return read
  if (input !== undefined && method === 'GET') return usage('A GET has no body; -F NAME=VALUE goes into its query.')
  if (readsStdin(typedFields) + (context.globals['token-file'] === '-' ? 1 : 0) > 1)
    return usage('Only one flag can read stdin.')
  const route = await findRoute(method, withoutQuery(read.path))
  const kind = as ?? route?.caller
  if (kind === undefined)
    return usage(
      `${method} ${withoutQuery(read.path)} is not known here.`,
      'Say with --as which credential it takes; `voucherctl api routes` lists the known routes.',
    )
  const named = await readFields(context, typedFields, rawFields)
  if (!named.ok) return named
  const call = { method, kind, route }
  if (method === 'GET') {
    const query = named.fields.map(({ name, text }) => [name, text] as const)
    return { ok: true, call: { ...call, path: withQuery(read.path, query), body: undefined } }
  }
  const body = named.fields.length === 0 ? await readJsonBody(context, input, '--input') : bodyOf(named.fields)
  return body.ok ? { ok: true, call: { ...call, path: read.path, body: body.text } } : body
}

function bodyOf(fields: Parameters<typeof documentOf>[0]) {
  const built = documentOf(fields)
  return built.ok ? { ok: true as const, text: JSON.stringify(built.document) } : built
}

/** Fetches all pages with the query members `page` and `limit`, which every list endpoint has. */
async function showAll(context: Context, call: AnyCall, mode: SecureMode): Promise<Outcome<unknown>> {
  if (call.method !== 'GET') return usage('--all reads every page of a GET.')
  if (/[?&](?:page|limit)=/.test(call.path))
    return usage('--all reads every page and cannot be combined with page or limit in PATH.')
  const { fetchAll } = await import('../../command/paging.js')
  return fetchAll<unknown>(context, async ({ page, limit }, { timeoutMs } = {}) => {
    const query = Object.entries({ page, limit }).map(([name, value]) => [name, String(value)] as const)
    const sent = await sendAny(context, { ...call, path: withQuery(call.path, query) }, mode, timeoutMs)
    if (!sent.ok) return sent
    return sent.result.ok ? { ok: true, data: sent.result.data } : fromCall(sent.result, sent.facts)
  })
}

async function showCurl(
  context: Context,
  call: AnyCall,
  mode: SecureMode,
  { input, include }: { readonly input: string | undefined; readonly include: boolean },
): Promise<Outcome<unknown>> {
  const base = context.baseUrl()
  if (!base.ok) return base
  if (mode !== 'off' && isSecured(call.path))
    return usage('curl cannot encrypt a call.', 'With --secure off, --curl shows the one in plain text.')
  const { curlOf } = await import('./curl.js')
  const { env, cwd, stderr } = context.host
  const { proxyOf } = await import('../../command/transport.js')
  const found = await proxyOf(context.host, base.value)
  if (!found.ok) return found
  const proxyVariable = found.proxy?.variable
  const options = { kind: call.kind, schema: call.route?.body, bodyFile: input, include, env, cwd, proxyVariable }
  const curl = curlOf(base.value, prepareAny(context, call, undefined), options)
  if (isDataAskedFor(context)) return { ok: true, data: curl }
  context.output.say(curl.command)
  if (stderr.isTTY === true) for (const { name, holds } of curl.variables) context.output.notice(`${name}: ${holds}`)
  return { ok: true, printed: true }
}

/** @param entries nodes of the command tree */
export const api = (entries: readonly Entry[]): Group => ({
  name: 'api',
  summary: 'Any route of the server, by method and path',
  own: apiCall,
  commands: [routes(entries)],
})
