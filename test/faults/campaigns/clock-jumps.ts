import { join } from 'node:path'
import { contract } from '../../../src/contract/index.js'
import type { IssuedVoucher } from '../../../src/contract/vouchers.js'
import { callerOf } from '../../support/server/client.js'
import { codeOf, newTenant } from '../../support/server/tenant.js'
import { CallLog } from '../call-log.js'
import type { Campaign, Run } from '../campaign.js'
import { clerks, retryUnresolved, send } from '../clients.js'
import { breachesOf } from '../invariants.js'
import { jumpingBots } from '../jumping-bots.js'
import { startServer, tenantAt } from '../server.js'
import { ShiftedClock } from '../shifted-clock.js'

const CLIENTS = 8
const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Clock shifts in ms, used in turn. Any two differ by less than the 30 days that idempotency records live. */
const SHIFTS = [HOUR, 12 * DAY, 0, -5 * HOUR, -12 * DAY, 2 * DAY, -1_500, 5 * HOUR]
/** The one rate limit that the campaign reaches. */
const LIMITED = { calls: 5, seconds: 2 }
const LIMITS = ['issue', 'redeem', 'reverse', 'verify', 'console', 'bot_calls', 'template_writes', 'auth_failures']
  .map((name) => `${name}=1000000/60`)
  .concat(`reads=${LIMITED.calls}/${LIMITED.seconds}`)

const around = (now: number) => ({
  type: 'fixed' as const,
  starts_at: new Date(now - 100 * DAY).toISOString(),
  ends_at: new Date(now + 100 * DAY).toISOString(),
})

export const clockJumps: Campaign = {
  row: 'clock',
  name: 'the wall clock set forward and back under load and across restarts',
  tags: ['clock-set-back/1', 'idempotency-keys/5', 'verify/2'],
  requirement: 'The clock jumps by up to 12 days. Redeems continue, and delayed deliveries are sent within 30 s.',
  states: [
    'the clock jumped ahead under load',
    'the clock jumped back under load',
    'the clock jumped across a kill',
    'the clock jumped across a stop',
    'a retry was a replay',
    'a rate limit refused a call',
    'a token had expired',
    'a voucher had expired',
    'a voucher was not valid yet',
    'a delivery was retried after the clock was set back',
    'a delivery was in flight while the clock jumped',
  ],

  async run({ quick, random, folder, root, sometimes, say }: Run) {
    const dataDir = join(folder, 'data')
    const callLog = new CallLog(join(folder, 'acknowledged.ndjson'), sometimes)
    const broken: string[] = []
    const clock = new ShiftedClock(folder)
    const bots = await jumpingBots(broken, sometimes)
    const flags = [...LIMITS.flatMap((it) => ['--rate-limit', it]), '--dev-webhook-loopback', String(bots.port)]
    const start = () => startServer(root, dataDir, flags, clock.env)
    let server = await start()
    const first = await newTenant(server)
    // The validity covers every jump, so vouchers can be redeemed at any clock.
    const { id } = await first.template({ issue_limit: 1_000_000, validity: around(Date.now()) })
    const oneDay = await first.template({ validity: { type: 'relative', duration_days: 1 } })
    const ofADay = { template_id: oneDay.id, external_issue_id: 'day', recipient_user_id: 'user' }
    const issued = await send(first, callLog, callLog.open('issue-day', 'issue', ofADay))
    const credential = codeOf(issued?.data as IssuedVoucher)
    const dayToken = await first.console(contract.tokens.create, {
      appId: first.appId,
      name: 'a day',
      scopes: ['vouchers:verify'],
      expires_in_days: 1,
    })
    await bots.open(first)

    let restarts = 0
    let before = 0
    // The short form makes half of the jumps, from a random one on.
    const jumps = quick ? Math.ceil(SHIFTS.length / 2) : SHIFTS.length * 6
    const firstShift = quick ? random.below(SHIFTS.length) : 0
    for (let round = 0; round < jumps && broken.length === 0; round++) {
      const shift = SHIFTS[(firstShift + round) % SHIFTS.length] as number
      const end = random.pick(['none', 'none', 'kill', 'stop'] as const)
      const jumpsAfter = random.between(20, 200)
      const endsAfter = jumpsAfter + 200
      let responses = 0
      let jumping: Promise<unknown> | undefined
      const [under, name] = [server, `j${round}`]
      const jump = () => (end === 'none' ? clock.set(under.pid, shift) : under[end]())
      await clerks(CLIENTS, {
        tenant: tenantAt(server, first),
        callLog,
        random: random.of(name),
        name,
        templateIds: [id],
        shouldContinue: () => responses < endsAfter,
        onResponse: () => {
          responses += 1
          if (responses === jumpsAfter) jumping = jump()
        },
      })
      await jumping
      if (end !== 'none') sometimes.note(`the clock jumped across a ${end}`)
      else if (shift !== before) sometimes.note(`the clock jumped ${shift > before ? 'ahead' : 'back'} under load`)
      before = shift
      if (end !== 'none') {
        clock.preset(shift)
        server = await start()
        restarts += 1
      }
      const tenant = tenantAt(server, first)
      const wedged = await retryUnresolved(tenant, callLog)
      broken.push(...wedged.map(({ key }) => `${key} has no response after the jump`))
      // Repeats of the calls before the jump must get the same responses after the jump.
      const acknowledged = callLog.acknowledged()
      await Promise.all(Array.from({ length: 100 }, () => send(tenant, callLog, random.pick(acknowledged))))

      // The rate limit window must end after its real duration despite the jump.
      const list = () => tenant.runtime(contract.templates.list, { limit: 1 })
      const limited = await Promise.all(Array.from({ length: LIMITED.calls + 1 }, list))
      // None is refused if a window ends between them.
      const refused = limited.find(({ status }) => status === 429)
      if (refused !== undefined) {
        sometimes.note('a rate limit refused a call')
        const waits = Number(refused.headers['retry-after'])
        if (!(waits <= LIMITED.seconds)) broken.push(`${name}: the limit lets one wait ${waits} s`)
      }
      await bots.meet(tenant, name)
      await new Promise((resolve) => setTimeout(resolve, LIMITED.seconds * 1_000))
      const { status } = await list()
      if (status !== 200) broken.push(`${name}: the limit still returns ${status} after its window`)

      const { data } = await tenant.runtime(contract.vouchers.verify, { credential })
      const { voucher, checkedAt } = data
      const early = checkedAt < voucher.validFrom ? 'not_yet_valid' : null
      const reason = checkedAt < voucher.validUntil ? early : 'expired'
      if (data.reason === 'expired') sometimes.note('a voucher had expired')
      if (data.reason === 'not_yet_valid') sometimes.note('a voucher was not valid yet')
      if (data.reason !== reason) broken.push(`${name}: a voucher of a day is ${data.reason} at ${checkedAt}`)
      const byDayToken = callerOf(server.send, dayToken.data.token)
      const verified = await byDayToken(contract.vouchers.verify, { credential })
      const seen = verified.code ?? verified.data.redeemable
      const expected = shift >= DAY ? 'TOKEN_EXPIRED' : data.redeemable
      if (seen === 'TOKEN_EXPIRED') sometimes.note('a token had expired')
      if (seen !== expected) broken.push(`${name}: a token of a day, ${shift} ms off: ${seen}`)
      say(`jump ${round + 1} of ${jumps}: ${callLog.acknowledged().length} acknowledged`)
    }
    const facts = await bots.close(tenantAt(server, first), (ms) => clock.set(server.pid, ms), quick)
    await server.stop()
    broken.push(...breachesOf(dataDir, folder, callLog))
    return { facts: { jumps, restarts, acknowledged: callLog.acknowledged().length, ...facts }, broken }
  },
}
