import { membersOf } from '../../../contract/endpoint.js'
import { nullable, oneOf } from '../../../contract/fields.js'
import { platformActing } from '../../../contract/platform/acting.js'
import { activityLine, requestLogEntry } from '../../../contract/platform/activity.js'
import { platformControls as controls, fault, faultInput } from '../../../contract/platform/controls.js'
import { platformDeliveries } from '../../../contract/platform/deliveries.js'
import { voucherHistory } from '../../../contract/platform/voucher-history.js'
import { type Schema, Type } from '../../../contract/schema.js'
import { updateTypes } from '../../../contract/updates.js'
import { callEndpoint, changeFaults, plantSeed, runConform, runScenario, triggerUpdate } from './act.js'
import { describeEndpoint, explainCode, explainDelivery, explainRefusal, readRule, replayDelivery } from './explain.js'
import { readActivity, readState, readVoucher } from './observe.js'
import { endpointTool } from './session.js'
import { type Tool, tool } from './tool.js'

const open = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })
const text = (description: string) => Type.String({ minLength: 1, maxLength: 1_000, description })
const optional = (description: string) => Type.Optional(text(description))
const items = <S extends Schema>(item: S) => Type.Object({ items: Type.Array(item) })

/** An object that may be null; `nullable` is for schemas with a type of one word. */
const orNull = <S extends Schema>(schema: S) => Type.Union([schema, Type.Unsafe<null>({ type: 'null' })])

const cause = Type.Object({ code: Type.String(), text: Type.String(), cure: Type.String() })
const explanation = Type.Object({
  code: Type.String(),
  meaning: Type.String(),
  causes: nullable(Type.String()),
  fix: Type.String(),
  status: nullable(Type.Integer()),
  exit: Type.Integer(),
  retryable: Type.Boolean(),
})
const delivery = membersOf(platformDeliveries.delivery.output)
const verdict = {
  delivery_id: Type.String(),
  verdict: oneOf(['delivered', 'refused', 'failed', 'waiting', 'cancelled']),
  status: nullable(Type.Integer({ description: 'that the application responded; null without a response' })),
  error: orNull(Type.Object({ code: Type.String(), message: Type.String() })),
  cause: orNull(cause),
  certain: Type.Boolean({ description: 'false: another cause looks alike' }),
  response: nullable(Type.String({ description: 'body of the response of the application' })),
}
const HALF_AN_HOUR = 1_800_000

/** Every tool (RULES.md#tools-for-models). Few and broad: a model reads all of them at the start of a session. */
export const tools: readonly Tool[] = [
  tool({
    name: 'server_state',
    title: 'State of the server',
    description:
      'Begin here. Returns the address of the server, its clock, faults, and the recent calls and deliveries that failed; `next` names the tool that explains each of them.',
    input: {},
    output: Type.Object({
      base_url: Type.String(),
      is_local: Type.Boolean(),
      may_change: Type.Boolean({ description: 'false: tools that change something refuse' }),
      clock: orNull(controls.getClock.output),
      faults: Type.Array(fault),
      reviews: Type.Integer({ description: 'templates and bots that wait for approval' }),
      failed_deliveries: Type.Array(delivery.delivery as Schema<{ id: string }>),
      refused_calls: Type.Array(requestLogEntry),
    }),
    run: readState,
  }),
  endpointTool(platformActing.find, {
    name: 'find',
    title: 'Find records',
    description:
      'Use it when you have a code, an id, an own id, a user, a username or the start of a name, and need the record. Returns kind, id and name of at most 20 records.',
  }),
  tool({
    name: 'describe_endpoint',
    title: 'Describe an endpoint',
    description:
      'Use it before `call`. Without `endpoint` it lists all endpoints with their summary; with one it returns schemas of input and output, and its failure codes.',
    input: { endpoint: optional('id such as vouchers.redeem') },
    output: items(open),
    run: async (_call, input) => describeEndpoint(input),
  }),
  tool({
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
    run: callEndpoint,
  }),
  tool({
    name: 'voucher_history',
    title: 'History of a voucher',
    description:
      'Use it when a voucher does not behave as expected. Returns the voucher and each event: who issued, verified, redeemed or reversed it, and when. Give one of the two.',
    input: { voucher_id: optional('vch_…'), code: optional('redeem code') },
    output: voucherHistory,
    run: readVoucher,
  }),
  tool({
    name: 'activity',
    title: 'Recent activity',
    description:
      'Returns calls, deliveries and changes after the number `since`, at most 50; `wait_seconds` waits for the first, such as for a webhook. Continue with the returned cursor.',
    input: {
      since: Type.Optional(Type.Integer({ minimum: 0, description: 'cursor of an earlier result, default 0' })),
      wait_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 50 })),
      only: Type.Optional(oneOf(['requests', 'deliveries', 'problems'])),
      bodies: Type.Optional(Type.Boolean({ description: 'with headers and bodies' })),
    },
    output: Type.Object({ items: Type.Array(activityLine), cursor: Type.Integer() }),
    run: readActivity,
  }),
  tool({
    name: 'explain_refusal',
    title: 'Explain a refused call',
    description:
      'Use it for a call that the server refused. Returns the entry of the request log, and meaning, causes and fix of its failure code.',
    input: { request_id: text('req_…') },
    output: Type.Object({ request: requestLogEntry, cause: orNull(explanation) }),
    run: explainRefusal,
  }),
  tool({
    name: 'explain_code',
    title: 'Explain a failure code',
    description: 'Returns meaning, causes and fix of a failure code of the server or of voucherctl. Needs no server.',
    input: { code: text('such as VOUCHER_EXPIRED') },
    output: explanation,
    run: async (call, input) => explainCode(call, input),
  }),
  tool({
    name: 'explain_delivery',
    title: 'Explain a delivery',
    description:
      'Use it when a webhook did not arrive or the application refused it. Returns verdict, cause and cure. If two causes look alike from here, `next` names the replay that tells them apart.',
    input: { delivery_id: optional('dlv_…; default: the newest that failed') },
    output: Type.Object({
      ...verdict,
      other_causes: Type.Array(cause),
      verification: delivery.verification as Schema<object | null>,
      origin: nullable(Type.String({ description: 'of the webhook' })),
      next_attempt_at: nullable(Type.String()),
    }),
    run: explainDelivery,
  }),
  tool({
    name: 'replay_delivery',
    title: 'Send a delivery again',
    description:
      'Sends a delivery once more without changing its state: as_sent with the same headers, resigned with a new signature, probe, several times as other encoders write it, to tell a wrong secret from a body that the application encodes again. Returns verdict, cause and cure.',
    effect: 'changes',
    input: { delivery_id: text('dlv_…'), send: oneOf(['as_sent', 'resigned', 'probe']) },
    output: Type.Object(verdict),
    run: replayDelivery,
  }),
  tool({
    name: 'trigger_update',
    title: 'Make an update',
    description: 'Lets the server make an update for a bot and deliver it. Then wait with activity.',
    effect: 'changes',
    input: {
      bot_id: text('bot_…'),
      type: oneOf(updateTypes),
      count: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    },
    output: items(open),
    run: triggerUpdate,
  }),
  tool({
    name: 'faults',
    title: 'Change faults',
    description:
      'Makes the server fail on purpose: add a fault to the next calls of an endpoint, remove one, or clear all. Returns the faults that are set.',
    effect: 'changes',
    input: {
      action: oneOf(['add', 'remove', 'clear']),
      fault: Type.Optional(faultInput),
      fault_id: optional('flt_…, for remove'),
    },
    output: items(fault),
    run: changeFaults,
  }),
  endpointTool(controls.forecast, {
    name: 'clock_forecast',
    title: 'Forecast of the test clock',
    description:
      'Use it before clock_advance. Returns what would happen: deliveries due, vouchers and tokens that expire.',
  }),
  endpointTool(controls.advanceClock, {
    name: 'clock_advance',
    title: 'Advance the test clock',
    description:
      'Moves the test clock of the server forward, never back. Returns the new time. snapshot_restore returns to an earlier time.',
    effect: 'changes',
    next: { tool: 'activity', arguments: { only: 'deliveries', wait_seconds: 5 }, why: 'deliveries that fell due' },
  }),
  tool({
    name: 'seed',
    title: 'Plant records',
    description:
      'Plants a seed file, an inline seed, or the example into an empty store: an application, an active template, a bot. Returns ids; tokens are hidden, use application_id of `call`.',
    effect: 'changes',
    isIdempotent: true,
    input: { file: optional('path of a seed, YAML or JSON'), seed: Type.Optional(open) },
    output: platformActing.seedStore.output,
    run: plantSeed,
  }),
  endpointTool(controls.saveSnapshot, {
    name: 'snapshot_save',
    title: 'Save a snapshot',
    description:
      'Saves the state of the server under a name, before an experiment. Replaces a snapshot of the same name.',
    effect: 'changes',
    isIdempotent: true,
  }),
  endpointTool(controls.restoreSnapshot, {
    name: 'snapshot_restore',
    title: 'Restore a snapshot',
    description: 'Returns the server to a snapshot: what happened since is lost.',
    effect: 'replaces',
    isIdempotent: true,
  }),
  tool({
    name: 'run_scenario',
    title: 'Run a scenario',
    description:
      'Runs the steps of a scenario file or text on a temporary server, or with on_server on the chosen one. Returns each step with what differed. The resource voucherctl://schemas/scenario.schema.json says what a step may hold.',
    effect: 'either',
    msMax: HALF_AN_HOUR,
    input: {
      file: optional('path of the file'),
      yaml: Type.Optional(Type.String({ maxLength: 200_000 })),
      on_server: Type.Optional(Type.Boolean()),
    },
    output: Type.Object({ items: Type.Array(open), passed: Type.Integer(), failed: Type.Integer() }),
    run: runScenario,
  }),
  tool({
    name: 'conform',
    title: 'Test a group of rules',
    description:
      'Tests whether the server follows a group of rules, such as lists, or one rule. Without `changes` only probes that change nothing. It uses the credentials of profile and environment. Returns the differences.',
    effect: 'either',
    msMax: HALF_AN_HOUR,
    input: {
      group: text('group, rule or probe'),
      changes: Type.Optional(Type.Boolean()),
      template: optional('active template to issue from: tpl_…'),
    },
    output: Type.Object({ ok: Type.Boolean(), differences: Type.Array(Type.Unsafe<object>(open)) }),
    run: runConform,
  }),
  tool({
    name: 'rule',
    title: 'Rule of the platform',
    description:
      'Returns the text of a rule by its anchor, such as idempotency-keys; without one all anchors. Needs no server.',
    input: { anchor: optional('such as retry-schedule') },
    output: items(Type.Object({ anchor: Type.String(), text: nullable(Type.String()) })),
    run: async (call, input) => readRule(call, input),
  }),
]
