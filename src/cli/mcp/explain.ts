import { failuresOf } from '../../contract/endpoint.js'
import { nullable } from '../../contract/fields.js'
import { endpoints } from '../../contract/index.js'
import { platformActivity, requestLogEntry } from '../../contract/platform/activity.js'
import { Type } from '../../contract/schema.js'
import { didYouMean } from '../../values/closest.js'
import { rulesOf } from '../command/rules.js'
import { explainedCodes, explanationOf } from '../failures/codes.js'
import { usage } from '../failures/failure.js'
import { inputSchema } from '../schemas/scenario-schema.js'
import { items, open, optional, orNull, text } from './fields.js'
import { readLines } from './observe.js'
import { succeed, suggest, tool } from './tool.js'

/** A failure that names the known name which is closest to an unknown one. */
const unknown = (what: string, name: string, known: readonly string[], hint: string | null = null) =>
  usage(`There is no such ${what}.`, didYouMean(name, known, hint))

const ids = endpoints.map((it) => it.id)
export const unknownEndpoint = (id: string) => unknown('endpoint', id, ids, 'See describe_endpoint.')

export const explainCode = tool({
  name: 'explain_code',
  title: 'Explain a failure code',
  description: 'Returns meaning, causes and fix of a failure code of the server or of voucherctl. Needs no server.',
  isOwn: true,
  input: { code: text('such as VOUCHER_EXPIRED') },
  output: open,
  async run({ context }, { code }) {
    const found = explanationOf(code, context.host.env)
    if (found === undefined) return unknown('failure code', code.toUpperCase(), explainedCodes)
    return succeed(`${found.code}: ${found.meaning}`, { ...found })
  },
})

export const explainRefusal = tool({
  name: 'explain_refusal',
  title: 'Explain a refused call',
  description:
    'Use it for a call that the server refused. Returns the entry of the request log, and meaning, causes and fix of its failure code.',
  input: { request_id: text('req_…') },
  output: Type.Object({ request: requestLogEntry, cause: orNull(open) }),
  async run(call, { request_id: id }) {
    const log = await readLines(call, platformActivity.requests, {})
    if (!log.ok) return log
    const request = log.value.find((it) => it.request_id === id)
    if (request === undefined)
      return usage('The request log has no such request.', 'The tool activity lists recent ones.')
    const { code, voucher_id } = request
    const cause = code === null ? undefined : explanationOf(code, call.context.host.env)
    const next = voucher_id === null ? [] : [suggest('voucher_history', { voucher_id }, 'what happened before')]
    const known = 'The request succeeded, or its code is unknown.'
    const data = { request, cause: cause ? { ...cause } : null }
    return succeed(cause ? `${cause.code}: ${cause.meaning}` : known, data, next)
  },
})

export const describeEndpoint = tool({
  name: 'describe_endpoint',
  title: 'Describe an endpoint',
  description:
    'Use it before `call`. Without `endpoint` it lists all endpoints with their summary; with one it returns schemas of input and output, and its failure codes.',
  isOwn: true,
  input: { endpoint: optional('id such as vouchers.redeem') },
  output: items(open),
  async run(_call, { endpoint: id }) {
    const shown = endpoints.filter((it) => id === undefined || it.id === id)
    if (id !== undefined && shown.length === 0) return unknownEndpoint(id)
    const described = shown.map((it) => {
      const { method, path, summary, caller, scope = null } = it
      const head = { id: it.id, method, path, summary, caller, scope }
      return id === undefined ? head : { ...head, input: inputSchema(it), output: it.output, failures: failuresOf(it) }
    })
    return succeed(id === undefined ? 'All endpoints.' : `The endpoint ${id}.`, { items: described })
  },
})

export const readRule = tool({
  name: 'rule',
  title: 'Rule of the platform',
  description:
    'Returns the text of a rule by its anchor, such as idempotency-keys; without one all anchors. Needs no server.',
  isOwn: true,
  input: { anchor: optional('such as retry-schedule') },
  output: items(Type.Object({ anchor: Type.String(), text: nullable(Type.String()) })),
  async run({ context }, { anchor }) {
    const rules = rulesOf(context.host)
    const anchors = [...rules.keys()]
    if (anchor === undefined) return succeed('All rules.', { items: anchors.map((it) => ({ anchor: it, text: null })) })
    const name = anchor.replace(/^.*#/, '')
    const found = rules.get(name)
    if (found === undefined) return unknown('rule', name, anchors)
    return succeed(`The rule ${name}.`, { items: [{ anchor: name, text: found }] })
  },
})
