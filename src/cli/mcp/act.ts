import { type Endpoint, membersOf, mutates } from '../../contract/endpoint.js'
import { oneOf } from '../../contract/fields.js'
import { contract, endpointOf } from '../../contract/index.js'
import { platformActing } from '../../contract/platform/acting.js'
import { faultInput, platformControls } from '../../contract/platform/controls.js'
import type { NewFault } from '../../contract/platform/fault-kinds.js'
import { Type } from '../../contract/schema.js'
import type { Members } from '../../values/json.js'
import { collect } from '../command/stream-lines.js'
import { explanationOf } from '../failures/codes.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import { readAgentFile, withoutQuotes } from './agent-access.js'
import { unknownEndpoint } from './explain.js'
import { items, open, optional, text } from './fields.js'
import { otherForm, send, succeed, suggest, type ToolCall, tool } from './tool.js'

export const callEndpoint = tool({
  name: 'call',
  title: 'Call an endpoint',
  description:
    'Makes any call of the interface: issue, verify, redeem, approve, list. The input is checked before it is sent. On a local server, application_id replaces an application token and account_id an account JWT. Returns the data of the response; issuing on a local server shows the codes, other secrets are hidden.',
  effect: 'either',
  input: {
    endpoint: text('id such as vouchers.redeem'),
    input: Type.Optional({ ...open, description: 'members of path, query and body by their names' }),
    application_id: optional('act as this application: app_…'),
    account_id: optional('act as this account'),
    idempotency_key: optional('of an earlier call, to repeat it'),
  },
  output: Type.Object({ data: Type.Unsafe<unknown>({ description: 'output of the endpoint' }) }),
  async run(call, { endpoint: id, input = {}, application_id: appId, account_id: accountId, idempotency_key: key }) {
    const endpoint = endpointOf(id)
    if (endpoint === undefined) return unknownEndpoint(id)
    if (endpoint.streams) return usage('This endpoint is a stream.', 'Use the tool activity.')
    const refused = (mutates(endpoint) ? call.refuseWrite() : undefined) ?? (await invalid(endpoint, input))
    if (refused !== undefined) return refused
    if (appId !== undefined) return callAsApp(call, endpoint, input, appId, key)
    const context = call.contextWith(key === undefined ? {} : { 'idempotency-key': key })
    if ('code' in context) return context
    const account = accountId === undefined ? undefined : await asAccount(call, accountId)
    if (account?.ok === false) return account
    const showsCredentials = 'credentials' in membersOf(endpoint.output)
    const shown = call.isLocal && showsCredentials ? ['credentials'] : []
    const result = await send({ context }, endpoint as Endpoint, input, { ...account?.value, shown })
    if (result.ok) return done(endpoint, result.value, shown.length > 0)
    const hint = `${result.hint ?? ''} On a local server, give application_id (token) or account_id (jwt) instead.`
    if (result.code === 'CREDENTIAL_REQUIRED' && call.isLocal) return { ...result, hint }
    return { ...result, details: namedInInput(result.details) }
  },
})

const done = ({ id }: Endpoint, data: unknown, showsCodes: boolean) => ({
  ...succeed(`${id} succeeded.`, { data }),
  showsCodes,
})

/** Checks input by the contract, before anything is sent. */
async function invalid(endpoint: Endpoint, input: Members): Promise<Failure | undefined> {
  const { inputCheck } = await import('../scenario/check-input.js')
  const issues = (await inputCheck('input'))(endpoint, input)
  if (issues.length === 0) return undefined
  const errors = issues.map(({ path, message }) => ({ pointer: ['', 'input', ...path].join('/'), message }))
  const message = `The input does not fit ${endpoint.id}; nothing was sent.`
  return fail('INVALID_INPUT', message, 'See describe_endpoint.', { errors })
}

/** Names the members that a server refuses as the tool does: `/input/until` for `/until`, or for `until` of a query. */
function namedInInput(details: Members): Members {
  if (!Array.isArray(details.errors)) return details
  const errors = details.errors.map((it: Members) => ({ ...it, pointer: `/input/${it.pointer}`.replace('//', '/') }))
  return { ...details, errors }
}

async function asAccount({ context }: ToolCall, accountId: string) {
  const made = await context.call(contract.platform.issueAccountToken, { accountId })
  if (!made.ok) return 'code' in made ? made : fail('ABORTED', 'Nothing was sent.')
  const base = context.baseUrl()
  return base.ok ? { ok: true as const, value: { target: { baseUrl: base.value, credential: made.data.jwt } } } : base
}

async function callAsApp(call: ToolCall, endpoint: Endpoint, input: Members, appId: string, key: string | undefined) {
  const body = { endpoint: endpoint.id as 'vouchers.issue', input, ...(key !== undefined && { idempotency_key: key }) }
  const made = await send(call, platformActing.callAsApp, { appId, ...body })
  if (!made.ok) return made
  const { status, code, body: envelope } = made.value
  if (!Number.isInteger(status)) return otherForm
  const { data = null, message = '', details = {}, requestId = null } = (envelope ?? {}) as Members
  if (code === null) {
    const id = String((data as Members | null)?.id)
    const isShown = call.isLocal && endpoint.id === 'vouchers.issue'
    const shows = { shown: ['credentials'] }
    const shown = isShown ? await send(call, platformActing.showCredentials, { voucherId: id }, shows) : undefined
    return done(endpoint, shown?.ok ? { ...(data as Members), credentials: shown.value.credentials } : data, isShown)
  }
  const hint = explanationOf(code, call.context.host.env)?.fix ?? null
  const head = { ok: false as const, code, status, hint, retryable: false, requestId: requestId as string | null }
  return { ...head, message: String(message), details: namedInInput(details as Members) } satisfies Failure
}

export const changeFaults = tool({
  name: 'faults',
  title: 'Change faults',
  description:
    'Makes the server fail on purpose: add a fault to the next calls of an endpoint or the next deliveries, remove one, clear all, or release held calls. Returns the faults that are set, and the calls that they hold.',
  effect: 'changes',
  input: {
    action: oneOf(['add', 'remove', 'clear', 'release']),
    fault: Type.Optional(faultInput),
    fault_id: optional('flt_…, for remove'),
    request_id: optional('req_…, for release; default: all held calls'),
  },
  output: platformControls.faults.output,
  async run(call, { action, fault, fault_id: faultId, request_id: requestId }) {
    if (action === 'add' && fault === undefined) return usage('To add a fault, give `fault`.')
    if (action === 'remove' && faultId === undefined) return usage('To remove a fault, give `fault_id`.')
    const change = {
      add: () => send(call, platformControls.addFault, fault as NewFault),
      remove: () => send(call, platformControls.removeFault, { faultId: faultId ?? '' }),
      clear: () => send(call, platformControls.clearFaults, {}),
      release: () =>
        send(call, platformControls.releaseCalls, requestId === undefined ? {} : { request_id: requestId }),
    }
    const changed = await change[action]()
    if (!changed.ok) return changed
    const faults = await send(call, platformControls.faults, {})
    return faults.ok
      ? succeed(
          `Faults that are set: ${faults.value.items.length}; held calls: ${faults.value.held.length}.`,
          faults.value,
        )
      : faults
  },
})

export const plantSeed = tool({
  name: 'seed',
  title: 'Plant records',
  description:
    'Plants a seed file, an inline seed, or the example into an empty store: an application, an active template, a bot. Returns ids; tokens are hidden, use application_id of `call`.',
  effect: 'changes',
  isIdempotent: true,
  input: { file: optional('path of a seed below the working folder: .yaml, .yml or .json'), seed: Type.Optional(open) },
  output: platformActing.seedStore.output,
  async run(call, { file, seed: given }) {
    const { readSeedFile } = await import('../server/seed-file.js')
    const read = file === undefined ? undefined : await readSeedFile(call.context.host, file, readAgentFile)
    if (read?.ok === false) return withoutQuotes(read)
    const seed = read?.seed ?? given
    const planted = await send(call, platformActing.seedStore, seed === undefined ? {} : { seed })
    if (!planted.ok) return planted
    return succeed(planted.value.planted ? 'Planted.' : 'The store already holds the seed.', planted.value)
  },
})

export const triggerUpdate = tool({
  name: 'trigger_update',
  title: 'Make an update',
  description:
    'Lets the server make an update for a bot and deliver it. Then wait with activity. Calls make the other types of updates.',
  effect: 'changes',
  input: {
    bot_id: text('bot_…'),
    type: oneOf(['message', 'friend_request', 'inline_query', 'ping']),
    count: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  },
  output: items(open),
  async run(call, { bot_id: botId, type, count = 1 }) {
    const { makeUpdates } = await import('../server/make-updates.js')
    const made = await collect(makeUpdates(call.context, { botId, type, overrides: [] }, count))
    if (!made.ok) return made
    const next = suggest('activity', { only: 'deliveries', wait_seconds: 10 }, 'how it arrived')
    return succeed(`Updates that the server made: ${count}.`, { items: made.value.map((it) => ({ ...it })) }, [next])
  },
})

const HALF_AN_HOUR = 1_800_000

export const runScenario = tool({
  name: 'run_scenario',
  title: 'Run a scenario',
  description:
    'Runs the steps of a scenario file or text on a temporary server, or with on_server on the chosen one. Returns each step with what differed. The resource voucherctl://schemas/scenario.schema.json says what a step may hold.',
  effect: 'either',
  msMax: HALF_AN_HOUR,
  input: {
    file: optional('path below the working folder: .yaml, .yml or .json'),
    yaml: Type.Optional(Type.String({ maxLength: 200_000 })),
    on_server: Type.Optional(Type.Boolean()),
  },
  output: Type.Object({ items: Type.Array(open), passed: Type.Integer(), failed: Type.Integer() }),
  async run(call, { file, yaml = '', on_server: isOnServer }) {
    const base = isOnServer ? (call.refuseWrite() ?? call.context.baseUrl()) : undefined
    if (base?.ok === false) return base
    const read = file === undefined ? { ok: true as const, text: yaml } : await readAgentFile(call.context.host, file)
    if (!read.ok) return read
    const context = base === undefined ? withoutServer(call) : call.contextWith({ 'base-url': base.value })
    if ('code' in context) return context
    const { parseScenarios, runScenarios } = await import('../scenario/run-scenarios.js')
    const parsed = await parseScenarios(context, [{ file: file ?? 'yaml', text: read.text }])
    const ran = parsed.ok ? await runScenarios(context, parsed.value, { baseUrl: base?.value }) : parsed
    if (!ran.ok) return file === undefined ? ran : withoutQuotes(ran)
    const items = ran.data.items.map((it) => ({ ...it }))
    return succeed(`The scenario ${ran.data.failed === 0 ? 'passed' : 'failed'}.`, { ...ran.data, items })
  },
})

/** The context for a temporary server, without the settings of the chosen one. */
function withoutServer({ context, contextWith }: ToolCall) {
  const { VOUCHERCTL_BASE_URL: _url, VOUCHERCTL_PROFILE: _profile, ...env } = context.host.env
  return contextWith({ 'base-url': undefined, profile: undefined }, env)
}

export const testRules = tool({
  name: 'conform',
  title: 'Test a group of rules',
  description:
    'Tests whether the server follows a group of rules, such as lists, or one rule. Without `changes` only probes that change nothing. It uses the credentials of the seed, the profile or the environment. Returns the differences.',
  effect: 'either',
  msMax: HALF_AN_HOUR,
  input: {
    group: text('group, rule or probe'),
    changes: Type.Optional(Type.Boolean()),
    template: optional('active template to issue from: tpl_…'),
  },
  output: Type.Object({ ok: Type.Boolean(), differences: Type.Array(Type.Unsafe<object>(open)) }),
  async run(call, { group, changes = false, template }) {
    const refused = changes ? call.refuseWrite() : undefined
    if (refused !== undefined) return refused
    const { chooseProbes, runConform } = await import('../conform/run.js')
    const chosen = await chooseProbes(call.context, [group])
    if (!chosen.ok) return chosen
    const base = call.context.baseUrl()
    if (!base.ok) return base
    const report = await runConform(call.context, base.value, chosen, { 'read-only': !changes, template })
    if ('code' in report) return report
    const { items: results, ...counts } = report
    const differences = results.filter((it) => it.result === 'differs' || it.result === 'failed')
    const rules = [...new Set(differences.map((it) => it.rule))]
    const next = rules.map((anchor) => suggest('rule', { anchor }, 'what the rule says'))
    const { holds, not_applicable: others, not_reachable, not_usable, lacking } = counts
    const without = lacking.length === 0 ? '' : ` Credentials are missing: ${lacking.join(', ')}.`
    const rest = `${others} are not applicable, ${not_reachable + not_usable} were not tested`
    const text = `${holds} hold, ${differences.length} differ, ${rest}.${without}`
    return succeed(text, { ...counts, differences }, next)
  },
})
