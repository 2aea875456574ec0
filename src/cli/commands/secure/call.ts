import { isLogicalPath } from '../../../secure/inner-request.js'
import { leaf } from '../../command/leaf.js'
import { fromCall, usage } from '../../failure.js'
import { choice, pairs, text } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { readJsonBody } from '../api/body.js'
import { findRoute, methods } from '../api/endpoint.js'
import { sendAny } from '../api/send.js'

export const secureCall = leaf({
  name: 'call',
  summary: 'Make any call through the encrypted transport',
  notes: [
    'Always encrypted, whatever --secure says. The credential follows the path; --as names its kind for a path that is not known here. Calls that take an Idempotency-Key get one.',
    'The path is the logical one, without a query: /api/v1/ and segments of letters, digits and . _ ~ -',
  ],
  positional: { name: 'METHOD', summary: methods.join(', '), ask: 'Method', choices: methods },
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
    const route = await findRoute(method, path)
    const kind = flags.as ?? route?.caller
    if (kind === undefined)
      return usage(`${method} ${path} is not known here.`, 'Say with --as which credential it takes.')
    const body = await readJsonBody(context, flags.body, '--body')
    if (!body.ok) return body
    const search = new URLSearchParams(flags.query)
    const call = { method, path: search.size > 0 ? `${path}?${search}` : path, body: body.text, kind, route }
    const sent = await sendAny(context, call, 'required', 'secure.call')
    if (!sent.ok) return sent
    return sent.result.ok ? { ok: true, data: sent.result.data } : fromCall(sent.result)
  },
})
