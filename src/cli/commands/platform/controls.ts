import { platformControls as contract, type Forecast, type HeldCall } from '../../../contract/platform/controls.js'
import {
  DELIVERIES,
  deliveryFaults,
  FAULT_CODE,
  FAULT_PATH,
  type FaultKind,
  faultKinds,
  faultNumbers,
  faultTable,
  holdPlaces,
} from '../../../contract/platform/fault-kinds.js'
import { faultSentence } from '../../../contract/platform/fault-sentence.js'
import { updateTypes } from '../../../contract/updates.js'
import { durationMs } from '../../../values/duration.js'
import { parseObject } from '../../../values/json.js'
import { callLeaf, type Group, leaf } from '../../command/leaf.js'
import { suggested, usage } from '../../failures/failure.js'
import { at, choice, matching, member, ofKind, one, required, requiredUnless, text } from '../../flags/flags.js'
import { instant, parseTime, TIME_RULE } from '../../flags/time.js'

const clockView = { headline: (it: { now: string }) => `The test clock says ${it.now}.`, members: [] }

const seconds = (summary: string, message: string, step = 0) =>
  one('DURATION', summary, (text) => {
    const ms = durationMs(text)
    return ms === undefined || (step > 0 && ms % step !== 0) ? { ok: false, message } : { ok: true, value: ms / 1000 }
  })

const advanceRule = 'must be seconds, or a duration such as 2h'

export const clock: Group = {
  name: 'clock',
  summary: 'The test clock of a server started with --test-clock',
  commands: [
    callLeaf({
      name: 'show',
      endpoint: contract.getClock,
      examples: ['voucherctl platform clock show'],
      view: clockView,
    }),
    leaf({
      name: 'set',
      endpoint: contract.setClock,
      positional: { name: 'TIME', summary: 'Date or time, such as 2027-01-31 (UTC)', ask: 'Time', member: 'now' },
      examples: ['voucherctl platform clock set 2027-01-31'],
      view: clockView,
      run: async ({ call }, { positional }) => {
        const time = parseTime(positional)
        return time === undefined ? usage(`TIME ${TIME_RULE}.`) : call(contract.setClock, { now: time.instant })
      },
    }),
    callLeaf({
      name: 'advance',
      endpoint: contract.advanceClock,
      flags: {
        in: at(
          'seconds',
          requiredUnless('seconds', seconds('How far: seconds, or 30m, 2h, 31d', advanceRule), 'How far, such as 2h'),
        ),
        seconds: seconds('The same as --in', advanceRule),
      },
      examples: ['voucherctl platform clock advance --in 31d'],
      view: clockView,
    }),
    callLeaf({
      name: 'forecast',
      endpoint: contract.forecast,
      notes: ['If there are too many vouchers, tokens or deliveries to count, the forecast says "at least".'],
      flags: {
        until: requiredUnless('in', instant('Until when, such as 2027-01-31'), 'Until when'),
        in: at(
          'seconds',
          seconds('How far ahead: seconds, or 30m, 2h, 31d', 'must be whole seconds, or a duration such as 2h', 1000),
        ),
      },
      examples: [
        'voucherctl platform clock forecast --in 31d',
        'voucherctl platform clock forecast --until 2027-01-31',
      ],
      view: {
        headline: foretell,
        members: [],
        next: (it) => `To go there: ${suggested`platform clock set ${it.until}`}`,
      },
    }),
  ],
}

const faultMembers = ['id', 'endpoint', 'kind', 'share', 'times', 'left', 'delay_ms', 'nth', 'status', 'code', 'at']

/** Members of the body that `--match-body` names. */
const jsonObject = one('JSON', 'Only if the body has these members; no secrets', (text) => {
  const value = parseObject(text)
  return value === undefined
    ? { ok: false, message: 'must be a JSON object such as {"user_id":"u1"}' }
    : { ok: true, value }
})

const heldLine = ({ request_id: id, endpoint, at: place, since }: HeldCall) =>
  `${endpoint} ${id} is held ${holdPlaces[place]} since ${since}.`

const does = (kinds: readonly FaultKind[]) => kinds.map((it) => `${it} ${faultTable[it][0]}`).join('; ')
const callFaults = faultKinds.filter((it) => !deliveryFaults.includes(it))
const kindSummary = `${does(callFaults)}. For ${DELIVERIES}: ${does(deliveryFaults)}`

export const faults: Group = {
  name: 'faults',
  alias: 'fault',
  summary: 'Failures on purpose, to test what your application does',
  commands: [
    callLeaf({
      name: 'list',
      endpoint: contract.faults,
      examples: ['voucherctl platform faults list'],
      view: {
        members: faultMembers,
        empty: 'There are no faults.',
        headline: ({ held }) => held.map(heldLine).join(' ') || undefined,
        next: ({ held }) =>
          held.length === 0 ? undefined : `To let them go on: ${suggested`platform faults release`}`,
      },
    }),
    callLeaf({
      name: 'add',
      endpoint: contract.addFault,
      flags: {
        endpoint: required(
          ofKind('endpoints', member('vouchers.redeem and others (`voucherctl server openapi`), or deliveries', 'ID')),
          'Endpoint',
        ),
        kind: required(member(kindSummary, 'KIND'), 'Kind'),
        times: member(faultNumbers.times[2], 'N'),
        share: member('Share, chosen at random: 0.05 is one in twenty', 'SHARE'),
        seed: member(faultNumbers.seed[2], 'N'),
        nth: member(faultNumbers.nth[2], 'N'),
        'match-path': at(
          'match/path',
          matching(
            'PATH',
            'Only calls with this path, which may contain *',
            (it) => new RegExp(FAULT_PATH).test(it),
            'must begin with / and have at most 256 visible ASCII characters; Git Bash rewrites it without MSYS_NO_PATHCONV=1',
          ),
        ),
        'match-body': at('match/body', jsonObject),
        'match-bot': at('match/bot', text('BOT', 'Only deliveries of the bot with this id')),
        'match-type': at('match/type', choice(updateTypes, 'Only deliveries of this type', 'TYPE')),
        'delay-ms': member(faultNumbers.delay_ms[2], 'MS'),
        status: member(faultNumbers.status[2], 'STATUS'),
        code: matching(
          'CODE',
          'With status: failure code, default by the status',
          (it) => new RegExp(FAULT_CODE).test(it),
          'must be a code such as RATE_LIMITED',
        ),
        'retry-after': member(faultNumbers.retry_after[2], 'SECONDS'),
        at: member('With hold: place of the wait, default committed', 'PLACE'),
        'hold-ms': member(faultNumbers.hold_ms[2], 'MS'),
      },
      examples: [
        {
          command: 'voucherctl platform faults add --endpoint vouchers.redeem --kind drop_response --share 0.05',
          comment: '5 % of the redeems lose their response',
        },
        'voucherctl platform faults add --endpoint vouchers.redeem --kind hold --at committed',
        'voucherctl platform faults add --endpoint deliveries --kind duplicate --match-type voucher_redeemed',
      ],
      view: {
        headline: faultSentence,
        members: ['id'],
        next: (it) => `To end it: ${suggested`platform faults remove ${it.id}`}`,
      },
    }),
    callLeaf({
      name: 'release',
      endpoint: contract.releaseCalls,
      positional: { name: 'REQUEST', summary: 'Request id of one held call; default: all', member: 'request_id' },
      examples: ['voucherctl platform faults release'],
      view: { headline: (it) => `Released ${it.released} ${it.released === 1 ? 'call' : 'calls'}.`, members: [] },
    }),
    callLeaf({
      name: 'remove',
      endpoint: contract.removeFault,
      examples: ['voucherctl platform faults remove flt_01JC…'],
      view: { headline: (it) => `Removed the fault ${it.kind} of ${it.endpoint}.`, members: [] },
    }),
    callLeaf({
      name: 'clear',
      endpoint: contract.clearFaults,
      examples: ['voucherctl platform faults clear'],
      view: {
        headline: (it) => `Removed ${it.removed} ${it.removed === 1 ? 'fault' : 'faults'}.`,
        members: [],
      },
    }),
  ],
}

const count = (number: number, one: string, several: string) =>
  number === 0 ? [] : [`${number} ${number === 1 ? one : several}`]

/** Says what happens until the time of a forecast: `3 deliveries fall due, 12 vouchers expire`. */
function foretell(forecast: Forecast): string {
  const events = [
    ...count(forecast.deliveries_due, 'delivery falls due', 'deliveries fall due'),
    ...count(forecast.vouchers_becoming_valid, 'voucher becomes valid', 'vouchers become valid'),
    ...count(forecast.vouchers_expiring, 'voucher expires', 'vouchers expire'),
    ...count(forecast.tokens_expiring, 'application token expires', 'application tokens expire'),
  ]
  const until = `Until ${forecast.until}`
  if (forecast.complete) return `${until}: ${events.length === 0 ? 'nothing falls due or expires' : events.join(', ')}.`
  const found = events.length === 0 ? 'nothing was found' : `at least ${events.join(', ')}`
  return `${until}: ${found}. There are too many records to count all.`
}
