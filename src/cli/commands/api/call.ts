import { isSecured } from '../../../client/secure.js'
import type { SecureMode } from '../../../secure/client/options.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { fromCall, usage } from '../../failure.js'
import { choice, list, text, toggle, withLetter } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { methods } from './endpoint.js'
import { withQuery } from './path.js'
import { readCall } from './read.js'
import type { AnyCall } from './send.js'
import { prepareAny, sendAny } from './send.js'
import { isDataAskedFor, showData, showWhole } from './show.js'

export const apiCall = leaf({
  name: 'api',
  summary: 'Call any route and print the data of its answer as JSON',
  notes: [
    'PATH lies under /api/v1 unless it begins with /api/v1, /_platform/v1, /healthz, /readyz or /metrics; its first slash may be left out. `voucherctl api routes` lists every route. The credential follows the route; --as names its kind for a path that is not known here. Calls that take an Idempotency-Key get one.',
    'With -F, numbers, true, false and null are what they say, and @FILE is what the file holds, without one final line end. a.b=c and a[b]=c go inside, a[]=x adds to a list, a[] alone is an empty one. With -f everything is text. In the query of a GET the names stay as they are typed.',
    '-i also prints answers that fail or are not JSON; the exit code stays. --curl has variables where tokens, codes and secrets belong: with those set, the command gets the same answer in bash.',
  ],
  positional: { name: 'METHOD', summary: methods.join(', '), ask: 'Method', choices: methods },
  second: { name: 'PATH', summary: 'Such as /open-platform/vouchers/templates?limit=5', ask: 'Path' },
  flags: {
    field: withLetter('F', list('NAME=VALUE', 'Typed member of the body, of a GET of its query')),
    'raw-field': withLetter('f', list('NAME=VALUE', 'The same as text')),
    input: text('FILE|-', 'JSON of the whole body'),
    as: choice(['token', 'bot', 'jwt', 'operator', 'none'], 'Kind of the credential'),
    include: withLetter('i', toggle('Print status line, headers and the whole body')),
    all: toggle('Every page of a list'),
    curl: toggle('Print a command with curl that makes this call; send nothing'),
  },
  examples: [
    { command: 'voucherctl api GET /open-platform/vouchers/templates -F limit=5' },
    { command: "voucherctl api POST /open-platform/applications -F name=Shop -F 'allowed_origins[]=*'" },
    { command: 'voucherctl api POST /open-platform/vouchers/verify --input verify.json --curl' },
    { command: 'voucherctl api GET /metrics -i' },
  ],
  json: true,
  changes: true,
  idempotent: true,
  run: async (context, { positional: method, second: path, flags }): Promise<Outcome<unknown>> => {
    const { field: fields, 'raw-field': rawFields, input, as } = flags
    const read = await readCall(context, { method, path, fields, rawFields, input, as })
    if (!read.ok) return read
    const { call } = read
    // The protocol's own routes are what the encryption is made with.
    const mode = call.route?.id.startsWith('secure.') ? 'off' : context.settings.secure.mode.value
    if (flags.all) return showAll(context, call, mode, flags)
    if (flags.curl) return showCurl(context, call, mode, flags)
    const sent = await sendAny(context, call, mode, 'api')
    if (!sent.ok) return sent
    return flags.include && sent.response !== undefined
      ? showWhole(context, call, sent, sent.response)
      : showData(call, sent)
  },
})

/** Every page of a list, by the members that every list of the interface takes. */
async function showAll(
  context: Context,
  call: AnyCall,
  mode: SecureMode,
  { include, curl }: { readonly include: boolean; readonly curl: boolean },
): Promise<Outcome<unknown>> {
  if (call.method !== 'GET') return usage('--all reads every page of a GET.')
  if (include || curl) return usage(`--all makes several calls: it goes without ${include ? '-i' : '--curl'}.`)
  if (/[?&](?:page|limit)=/.test(call.path)) return usage('--all reads every page; it goes without page and limit.')
  const { fetchAll } = await import('../../command/paging.js')
  return fetchAll<unknown>(context, async ({ page, limit }, { timeoutMs } = {}) => {
    const query = Object.entries({ page, limit }).map(([name, value]) => [name, String(value)] as const)
    const sent = await sendAny(context, { ...call, path: withQuery(call.path, query) }, mode, 'api', timeoutMs)
    if (!sent.ok) return sent
    return sent.result.ok ? { ok: true, data: sent.result.data } : fromCall(sent.result)
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
  const options = { kind: call.kind, routeId: call.route?.id, bodyFile: input, include, env, cwd }
  const curl = curlOf(base.value, prepareAny(context, call, undefined), options)
  if (isDataAskedFor(context)) return { ok: true, data: curl }
  context.output.say(curl.command)
  if (stderr.isTTY === true) for (const { name, holds } of curl.variables) context.output.notice(`${name}: ${holds}`)
  return { ok: true, printed: true }
}
