import { del, get, group, post, put } from '../endpoint.js'
import { ids, input, instant, instantAt, instantInput, nullable, oneOf, requestId, secret } from '../fields.js'
import { type Static, Type, withExample } from '../schema.js'
import { updateTypes } from '../updates.js'
import {
  FAULT_CODE,
  FAULT_PATH,
  type FaultNumber,
  faultKinds,
  faultNumbers,
  type HoldPlace,
  holdPlaces,
} from './fault-kinds.js'

// Operator control over a server under test: its clock, faults, snapshots and reset.

/** Maximum seconds of one advance of the test clock: 100 years. */
const ADVANCE_SECONDS_MAX = 3_153_600_000

const clock = Type.Object({ now: instantAt('2027-01-31T00:00:00.000Z'), test_clock: Type.Boolean({ example: true }) })

export const forecast = Type.Object({
  now: instant,
  until: instantAt('2026-12-22T10:00:00.000Z'),
  deliveries_due: Type.Integer({ description: 'failed deliveries whose next attempt falls due', example: 3 }),
  vouchers_expiring: Type.Integer({ example: 12 }),
  vouchers_becoming_valid: Type.Integer(),
  tokens_expiring: Type.Integer({ description: 'application tokens' }),
  complete: Type.Boolean({
    description: 'false if there is too much to count, so that more may happen',
    example: true,
  }),
})
export type Forecast = Static<typeof forecast>

function faultNumber(name: FaultNumber) {
  const [minimum, maximum, description] = faultNumbers[name]
  const expected = `an integer from ${minimum} to ${maximum}`
  return Type.Optional(Type.Integer({ minimum, maximum, description, 'x-expected': expected }))
}

/** Members that a fault has only if they were given. */
const optionalMembers = {
  seed: faultNumber('seed'),
  nth: faultNumber('nth'),
  status: faultNumber('status'),
  code: Type.Optional(Type.String({ pattern: FAULT_CODE, 'x-expected': '1 to 64 of A-Z 0-9 _, with a letter first' })),
  retry_after: faultNumber('retry_after'),
  at: Type.Optional(oneOf(Object.keys(holdPlaces) as HoldPlace[])),
  hold_ms: faultNumber('hold_ms'),
}

/** A selection of deliveries; fault-kinds.ts says which members select calls. */
const matchDelivery = { bot: Type.Optional(ids.botId), type: Type.Optional(oneOf(updateTypes)) }

const matchPath = Type.String({
  pattern: FAULT_PATH,
  description: '`*` stands for any characters',
  'x-expected': 'a path that begins with /, of at most 256 visible ASCII characters',
})
const matchBody = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...secret })

/** Input of a fault, for the operator call and for seeds. */
export const faultInput = input({
  endpoint: Type.String({
    description: 'a contract id such as vouchers.redeem, or deliveries',
    example: 'vouchers.redeem',
  }),
  kind: oneOf(faultKinds, 'drop_response'),
  times: faultNumber('times'),
  share: Type.Optional(
    Type.Number({ exclusiveMinimum: 0, maximum: 1, 'x-expected': 'a number above 0 and up to 1, such as 0.05' }),
    0.05,
  ),
  match: Type.Optional(input({ path: Type.Optional(matchPath), body: Type.Optional(matchBody), ...matchDelivery })),
  delay_ms: faultNumber('delay_ms'),
  ...optionalMembers,
})

export const fault = Type.Object({
  id: ids.faultId,
  endpoint: Type.String({ example: 'vouchers.redeem' }),
  kind: oneOf(faultKinds, 'drop_response'),
  times: nullable(Type.Integer({ description: 'calls or attempts that it affects; null for all until it is removed' })),
  left: nullable(Type.Integer({ description: 'of these, how many are still to come' })),
  delay_ms: nullable(Type.Integer()),
  share: nullable(Type.Number({ description: 'share of the calls that it affects; null for each call' }), 0.05),
  /** Of the body only names of members: values may be credentials. */
  match: Type.Optional(
    Type.Object({
      path: Type.Optional(Type.String()),
      body: Type.Optional(Type.Array(Type.String())),
      ...matchDelivery,
    }),
  ),
  ...optionalMembers,
})
export type Fault = Static<typeof fault>

/** A call that a fault holds. */
export const heldCall = Type.Object({
  request_id: requestId,
  fault_id: ids.faultId,
  endpoint: Type.String({ example: 'vouchers.redeem' }),
  at: oneOf(Object.keys(holdPlaces) as HoldPlace[], 'committed'),
  since: instant,
  hold_ms: Type.Integer({ description: 'from since on, until it goes on by itself', example: 60_000 }),
})
export type HeldCall = Static<typeof heldCall>

export const snapshot = Type.Object({
  name: Type.String({ example: 'seeded' }),
  saved_at: instant,
  clock: instant,
  vouchers: Type.Integer({ description: 'number of vouchers in the snapshot', example: 12 }),
})
export type Snapshot = Static<typeof snapshot>

const snapshotName = Type.Object({
  name: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
    example: 'seeded',
    'x-expected': '1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit',
  }),
})

/** A call that replaces the state. `shared` permits it for a database that other servers may use. */
const replacing = {
  body: input({ shared: Type.Optional(Type.Boolean()) }),
  bodyOptional: true,
} as const

const refused = ['RESET_NOT_ALLOWED', 'DATABASE_SHARED'] as const

export const platformControls = group('platform', {
  getClock: get('/_platform/v1/clock', {
    summary: 'Read the test clock',
    output: clock,
    failures: ['TEST_CLOCK_OFF'],
  }),

  setClock: put('/_platform/v1/clock', {
    summary: 'Set the test clock; it only moves forward',
    command: 'platform clock set :now',
    body: input({ now: withExample(instantInput, '2027-01-31T00:00:00Z') }),
    output: clock,
    failures: ['TEST_CLOCK_OFF'],
  }),

  advanceClock: post('/_platform/v1/clock/advance', {
    summary: 'Advance the test clock',
    body: input({ seconds: Type.Number({ minimum: 0, maximum: ADVANCE_SECONDS_MAX, example: 86_400 }) }),
    output: clock,
    failures: ['TEST_CLOCK_OFF'],
  }),

  forecast: get('/_platform/v1/clock/forecast', {
    summary: 'Count what happens if the test clock is advanced',
    unrecorded: true,
    query: input({
      until: Type.Optional(instantInput),
      seconds: Type.Optional(
        Type.Integer({ minimum: 0, maximum: ADVANCE_SECONDS_MAX, description: 'instead of until, default 0' }),
      ),
    }),
    output: forecast,
    failures: ['TEST_CLOCK_OFF'],
  }),

  faults: get('/_platform/v1/faults', {
    summary: 'List faults, and the calls that they hold, oldest first',
    output: Type.Object({ items: Type.Array(fault), held: Type.Array(heldCall) }),
  }),

  addFault: post('/_platform/v1/faults', {
    summary: 'Inject a fault into calls of an endpoint, or into deliveries',
    body: faultInput,
    output: fault,
  }),

  releaseCalls: post('/_platform/v1/held-calls/release', {
    summary: 'Let held calls go on: one, or all',
    body: input({ request_id: Type.Optional(requestId) }),
    bodyOptional: true,
    output: Type.Object({ released: Type.Integer({ example: 1 }) }),
  }),

  removeFault: del('/_platform/v1/faults/:faultId', {
    summary: 'Remove a fault',
    output: fault,
    failures: ['FAULT_NOT_FOUND'],
  }),

  clearFaults: del('/_platform/v1/faults', {
    summary: 'Remove all faults',
    output: Type.Object({ removed: Type.Integer({ example: 1 }) }),
  }),

  snapshots: get('/_platform/v1/snapshots', {
    summary: 'List snapshots, oldest first',
    output: Type.Object({ items: Type.Array(snapshot) }),
    failures: ['RESET_NOT_ALLOWED', 'SNAPSHOTS_DAMAGED'],
  }),

  saveSnapshot: put('/_platform/v1/snapshots/:name', {
    summary: 'Save the state of the server; replaces a snapshot of the same name',
    irreversible: { action: 'Replacing snapshot', loses: 'The state that it holds is lost.' },
    params: snapshotName,
    output: snapshot,
    failures: ['RESET_NOT_ALLOWED', 'SNAPSHOTS_DAMAGED'],
  }),

  restoreSnapshot: post('/_platform/v1/snapshots/:name/restore', {
    ...replacing,
    summary: 'Return the server to a snapshot',
    unrecorded: true,
    irreversible: {
      action: 'Returning the server to snapshot',
      loses: 'Everything that it has stored since is lost, unless another snapshot holds it.',
    },
    params: snapshotName,
    output: snapshot,
    failures: [...refused, 'SNAPSHOT_NOT_FOUND', 'SNAPSHOT_OUTDATED', 'SNAPSHOTS_DAMAGED', 'TEST_CLOCK_OFF'],
  }),

  removeSnapshot: del('/_platform/v1/snapshots/:name', {
    summary: 'Remove a snapshot',
    irreversible: { action: 'Removing snapshot', loses: 'The state that it holds is lost.' },
    params: snapshotName,
    output: snapshot,
    failures: ['RESET_NOT_ALLOWED', 'SNAPSHOT_NOT_FOUND', 'SNAPSHOTS_DAMAGED'],
  }),

  reset: post('/_platform/v1/reset', {
    ...replacing,
    summary: 'Reset the server to the state that it started with',
    unrecorded: true,
    irreversible: {
      action: 'Resetting the server at',
      loses: 'Everything that it has stored is lost, except its snapshots and the records of its seed.',
    },
    output: Type.Object({ now: instant }),
    failures: refused,
  }),
})
