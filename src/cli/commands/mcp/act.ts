import { Readable } from 'node:stream'
import { type Endpoint, mutates } from '../../../contract/endpoint.js'
import { contract, endpoints } from '../../../contract/index.js'
import { platformActing } from '../../../contract/platform/acting.js'
import { platformControls } from '../../../contract/platform/controls.js'
import { updateTypes } from '../../../contract/updates.js'
import type { Members } from '../../../values/json.js'
import type { Leaf } from '../../command/leaf.js'
import { explanationOf } from '../../failures/codes.js'
import { type Failure, fail, usage } from '../../failures/failure.js'
import type { ConformReport } from '../conform/report.js'
import { unknownEndpoint } from './explain.js'
import { send } from './session.js'
import type { ToolCall } from './tool.js'

interface CallInput {
  readonly endpoint: string
  readonly input?: Members
  readonly application_id?: string
  readonly account_id?: string
  readonly idempotency_key?: string
}

/** Calls any endpoint: with the credential of the profile, as an application or as an account. */
export async function callEndpoint(call: ToolCall, given: CallInput) {
  const { endpoint: id, input = {}, application_id: appId, account_id: accountId, idempotency_key: key } = given
  const endpoint = endpoints.find((it) => it.id === id)
  if (endpoint === undefined) return unknownEndpoint(id)
  if (endpoint.streams) return usage('This endpoint is a stream.', 'Use the tool activity.')
  const refused = (mutates(endpoint) ? call.refuseWrite() : undefined) ?? (await invalid(endpoint, input))
  if (refused !== undefined) return refused
  if (appId !== undefined) return callAsApp(call, endpoint, input, appId, key)
  const context = call.contextWith(key === undefined ? {} : { 'idempotency-key': key })
  if ('code' in context) return context
  const account = accountId === undefined ? undefined : await asAccount(call, accountId)
  if (account?.ok === false) return account
  const shown = call.isLocal && showsCredentials.includes(id) ? ['credentials'] : []
  const result = await send({ context }, endpoint as Endpoint, input, { ...account?.value, shown })
  if (result.ok) return done(endpoint, result.value, shown.length > 0)
  const hint = `${result.hint ?? ''} On a local server, give application_id (token) or account_id (jwt) instead.`
  return result.code === 'CREDENTIAL_REQUIRED' && call.isLocal ? { ...result, hint } : result
}

/** Endpoints whose credentials a local server shows. */
const showsCredentials: readonly string[] = ['vouchers.issue', 'bots.issue', 'platform.showCredentials']

const done = ({ id }: Endpoint, data: unknown, showsCodes: boolean) => {
  return { ok: true as const, text: `${id} succeeded.`, data: { data }, showsCodes }
}

/** Checks input by the contract, before anything is sent. */
async function invalid(endpoint: Endpoint, input: Members): Promise<Failure | undefined> {
  const { inputCheck } = await import('../scenario/runner/check-input.js')
  const issues = (await inputCheck())(endpoint, input)
  if (issues.length === 0) return undefined
  const errors = issues.map(({ path, message }) => ({ pointer: `/${path.join('/')}`, message }))
  const message = `The input does not fit ${endpoint.id}; nothing was sent.`
  return fail('INVALID_INPUT', message, 'See describe_endpoint.', { errors })
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
  return { ...head, message: String(message), details: details as Members } satisfies Failure
}

interface FaultInput {
  readonly action: 'add' | 'remove' | 'clear'
  readonly fault?: Members
  readonly fault_id?: string
}

export async function changeFaults(call: ToolCall, { action, fault, fault_id: faultId = '' }: FaultInput) {
  const changed =
    action === 'clear'
      ? await send(call, platformControls.clearFaults, {})
      : action === 'remove'
        ? await send(call, platformControls.removeFault, { faultId })
        : await send(call, platformControls.addFault, (fault ?? {}) as never)
  if (!changed.ok) return changed
  const faults = await send(call, platformControls.faults, {})
  if (!faults.ok) return faults
  return { ok: true as const, text: `${faults.value.items.length} faults are set.`, data: faults.value }
}

/** Plants a seed of a file or of the input, or the example, into an empty store. */
export async function plantSeed(call: ToolCall, { file, seed: given }: { file?: string; seed?: Members }) {
  const { readSeedFile } = await import('../server/seed.js')
  const read = file === undefined ? undefined : await readSeedFile(call.context.host, file)
  if (read?.ok === false) return read
  const seed = read?.seed ?? given
  const planted = await send(call, platformActing.seedStore, seed === undefined ? {} : { seed })
  if (!planted.ok) return planted
  const text = planted.value.planted ? 'Planted.' : 'The store already holds the seed.'
  return { ok: true as const, text, data: planted.value }
}

export async function triggerUpdate(
  call: ToolCall,
  { bot_id: botId, type, count = 1 }: { bot_id: string; type: string; count?: number },
) {
  const { makeUpdates } = await import('../webhook/trigger-server.js')
  const known = updateTypes.find((it) => it === type)
  if (known === undefined) return usage('There is no such type.', `It is one of ${updateTypes.join(', ')}.`)
  const made = await makeUpdates(call.context, { botId, type: known, overrides: [], count })
  if (!('lines' in made)) return 'code' in made ? made : fail('ABORTED', 'Nothing was sent.')
  const items: Members[] = []
  for (;;) {
    const line = await made.lines.next()
    if (line.done && line.value !== undefined) return line.value
    if (line.done) break
    items.push(line.value as Members)
  }
  const next = [{ tool: 'activity', arguments: { only: 'deliveries', wait_seconds: 10 }, why: 'how it arrived' }]
  return { ok: true as const, text: `The server made ${items.length} updates.`, data: { items }, next }
}

/** Runs a command and returns its data; a failed check is data too. */
async function runLeaf<Data>(leaf: Leaf, context: ToolCall['context'], positional: string | undefined, flags: Members) {
  const outcome = await leaf.run(context, { positional, second: '', rest: [], flags } as never)
  if ('code' in outcome) return outcome
  return 'data' in outcome ? { ok: true as const, value: outcome.data as Data } : fail('ABORTED', 'Nothing was run.')
}

interface ScenarioInput {
  readonly file?: string
  readonly yaml?: string
  readonly on_server?: boolean
}

/** Runs a scenario on a temporary server, or on the chosen one. */
export async function runScenario(call: ToolCall, { file, yaml = '', on_server: isOnServer }: ScenarioInput) {
  const base = isOnServer ? (call.refuseWrite() ?? call.context.baseUrl()) : undefined
  if (base?.ok === false) return base
  const { VOUCHERCTL_BASE_URL: _url, VOUCHERCTL_PROFILE: _profile, ...env } = call.context.host.env
  const stdin = Readable.from([yaml])
  const flags = base === undefined ? { 'base-url': undefined, profile: undefined } : { 'base-url': base.value }
  const context = call.contextWith(flags, base === undefined ? { env, stdin } : { stdin })
  if ('code' in context) return context
  const { scenario } = await import('../scenario/scenario.js')
  const leaf = scenario.commands.find((it): it is Leaf => it.name === 'run')
  if (leaf === undefined) throw new Error('scenario run must exist')
  type Report = { items: Members[]; passed: number; failed: number }
  const ran = await runLeaf<Report>(leaf, context, file ?? '-', { watch: false })
  if (!ran.ok) return ran
  return { ok: true as const, text: `The scenario ${ran.value.failed === 0 ? 'passed' : 'failed'}.`, data: ran.value }
}

/** Tests one group of rules on the chosen server. */
export async function runConform(
  call: ToolCall,
  { group, changes = false, template }: { group: string; changes?: boolean; template?: string },
) {
  const refused = changes ? call.refuseWrite() : undefined
  if (refused !== undefined) return refused
  const { conform } = await import('../conform/conform.js')
  const flags = { only: [group], 'read-only': !changes, template, 'allow-skips': true, resume: false }
  const ran = await runLeaf<ConformReport>(conform, call.context, undefined, flags)
  if (!ran.ok) return ran
  const differences = ran.value.items.filter((it) => it.result === 'differs' || it.result === 'failed')
  const rules = [...new Set(differences.map((it) => it.rule))]
  const next = rules.map((anchor) => ({ tool: 'rule', arguments: { anchor }, why: 'what the rule says' }))
  const { items: _, ...counts } = ran.value
  const text = `${counts.holds} hold, ${differences.length} differ, ${counts.not_applicable} are not applicable.`
  return { ok: true as const, text, data: { ...counts, differences }, next }
}
