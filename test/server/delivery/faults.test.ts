import { describe, expect, it } from 'vitest'
import type { InputOf } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import type { Delivery } from '../../../src/contract/webhook.js'
import type { WorkerPassResult } from '../../../src/store/delivery/worker-pass.js'
import { StoreUnavailable } from '../../../src/store/store.js'
import { verifyWebhook } from '../../../src/webhook/signature.js'
import { closedPort } from '../../support/closed-port.js'
import { newChat, pollOf, say } from '../../support/server/chats.js'
import { DeliveryScene, type Received, type Receiver, SECRET, until } from '../../support/server/deliveries.js'

type NewFault = Omit<InputOf<typeof contract.platform.addFault>, 'endpoint'>

const plant = (scene: DeliveryScene, fault: NewFault) =>
  scene.tenant.operator(contract.platform.addFault, { endpoint: 'deliveries', ...fault })

const textOf = ({ body }: Pick<Received, 'body'>) =>
  (JSON.parse(body.toString()) as { message?: { text: string } }).message?.text ?? ''
const faultOf = ({ headers }: Received) => headers['x-platform-fault']
const updateIds = ({ calls }: Receiver) => calls.map((it) => it.updateId)

/** The records of the attempts of a delivery: result and fault. */
const attemptsOf = async (scene: DeliveryScene, updateId: number) =>
  (await scene.delivery(updateId)).attempts.map(({ status_code, fault }) => [status_code, fault])

/** A scene with a receiver of its bot, and with a chat. */
async function open(webhook: Parameters<DeliveryScene['set']>[1] = {}) {
  const scene = await DeliveryScene.open()
  const receiver = await scene.receiver()
  await scene.set(receiver, { allowed_updates: ['message', 'ping'], ...webhook })
  const chat = await newChat(scene.tenant, scene.bot)
  return { scene, receiver, chat, say: (text: string) => say(scene.tenant, chat, text) }
}

/** Waits until a fault has postponed a delivery. */
async function untilPostponed(scene: DeliveryScene, updateId: number) {
  await until(async () => (await scene.delivery(updateId)).last_error?.code === 'postponed')
  return scene.delivery(updateId)
}

/** A program that receives webhooks: it returns the status of its response. */
type Program = (call: Received, scene: DeliveryScene) => number

/** Runs two programs, each for a bot of its own, and sends the texts to both in a chat. */
async function runBoth(programs: readonly [Program, Program], fault: NewFault, texts: readonly string[]) {
  const scene = await DeliveryScene.open()
  const runs: { readonly receiver: Receiver; readonly delivery: Delivery | undefined }[] = []
  for (const program of programs) {
    const [receiver, bot] = [await scene.receiver(), await scene.tenant.bot()]
    receiver.respond = (call) => program(call, scene)
    await scene.set(receiver, { allowed_updates: ['message'] }, bot)
    await plant(scene, { ...fault, match: { ...fault.match, bot: bot.id } })
    const chat = await newChat(scene.tenant, bot)
    for (const text of texts) await say(scene.tenant, chat, text)
    await until(async () => (await scene.deliveries({}, bot)).every((it) => it.attempts.length > 0))
    // The next attempt of a refused delivery has no fault.
    scene.server.clock.advance(60_000)
    await until(async () => (await scene.deliveries({ status: 'delivered' }, bot)).length === texts.length)
    runs.push({ receiver, delivery: (await scene.deliveries({}, bot)).at(-1) })
  }
  return runs
}

/** Makes one write of the worker that postpones a delivery fail, before or after its commit. */
function failToPostpone(scene: DeliveryScene, when: 'before' | 'after') {
  const { store } = scene.server.deps
  const { write } = store
  const failed = { yet: false }
  const postpones = (result: unknown) =>
    !failed.yet && typeof result === 'object' && result !== null && (result as WorkerPassResult).hasPostponed
  const fail = () => {
    failed.yet = true
    throw new StoreUnavailable(`failed ${when} the commit`)
  }
  store.write = async (op, shared) => {
    // The store may run an operation again after it failed.
    let fails = false
    const result = await write(function* () {
      const done = yield* op()
      fails ||= when === 'before' && postpones(done)
      if (fails) fail()
      return done
    }, shared)
    if (when === 'after' && postpones(result)) fail()
    return result
  }
  return failed
}

describe('planted fault duplicate', () => {
  it('makes a program that forgets update ids count twice, and not one that remembers them', async () => {
    const counted = { wrong: 0, right: 0 }
    const seen = new Set<number>()
    const forgetful: Program = () => {
      counted.wrong += 1
      return 200
    }
    const right: Program = ({ updateId }) => {
      if (!seen.has(updateId)) counted.right += 1
      seen.add(updateId)
      return 200
    }
    await runBoth([forgetful, right], { kind: 'duplicate' }, ['one', 'two'])
    expect(counted).toEqual({ wrong: 3, right: 2 })
  })

  it.each([200, 500])('repeats it after a %i', { tags: ['faults-of-deliveries/2', 'test-clock/2'] }, async (status) => {
    const { scene, receiver } = await open()
    receiver.respond = () => (receiver.calls.length === 1 ? status : 418)
    await plant(scene, { kind: 'duplicate' })
    const updateId = await scene.ping()
    const { id } = await scene.untilStatus(updateId, status === 200 ? 'delivered' : 'failed')
    const [first, second] = receiver.calls as [Received, Received]
    expect([second.body.equals(first.body), second.headers]).toEqual([true, first.headers])
    expect([first, second].map((it) => [scene.verdict(it).ok, faultOf(it)])).toEqual(Array(2).fill([true, 'duplicate']))
    expect(await attemptsOf(scene, updateId)).toEqual([[status, 'duplicate']])
    expect(scene.server.deps.attempts.of(id).map((it) => [it.attempt, it.result.statusCode, it.fault])).toEqual([
      [1, status, 'duplicate'],
      [null, 418, 'duplicate'],
    ])
    receiver.respond = () => 200
    scene.server.clock.advance(60_000)
    await scene.ping()
    await until(() => receiver.calls.length === (status === 200 ? 3 : 4))
    expect(receiver.calls.slice(2).map(faultOf)).toEqual(Array(status === 200 ? 1 : 2).fill(undefined))
  })

  it('sends nothing more after a connection failure', async () => {
    const { scene, receiver } = await open()
    const port = await closedPort()
    scene.ports.add(port)
    await scene.set({ url: `http://127.0.0.1:${port}` })
    await plant(scene, { kind: 'duplicate' })
    const updateId = await scene.ping()
    const { id } = await scene.untilStatus(updateId, 'failed')
    expect(await attemptsOf(scene, updateId)).toEqual([[null, 'duplicate']])
    expect([scene.server.deps.attempts.of(id).length, receiver.calls]).toEqual([1, []])
  })

  it('keeps the order of a chat and the maximum of connections', async () => {
    const { scene, receiver, say } = await open({ max_connections: 1 })
    await plant(scene, { kind: 'duplicate', times: 2 })
    for (const text of ['one', 'two', 'three']) await say(text)
    await scene.untilStatus(3, 'delivered')
    expect([updateIds(receiver), receiver.held.most]).toEqual([[1, 1, 2, 2, 3], 1])
  })

  it('sends nothing to an address that has become forbidden since the first response', async () => {
    const { scene, receiver } = await open()
    receiver.respond = () => {
      scene.ports.delete(receiver.port)
      return 200
    }
    await plant(scene, { kind: 'duplicate' })
    const { id } = await scene.untilStatus(await scene.ping(), 'delivered')
    expect(receiver.calls).toHaveLength(1)
    expect(scene.server.deps.attempts.of(id).at(-1)?.result.error).toMatchObject({ code: 'url_refused' })
  })

  it('sends nothing more after a stop began during the first sending', async () => {
    const { scene, receiver } = await open()
    let release = () => {}
    receiver.respond = () =>
      new Promise<number>((resolve) => {
        release = () => resolve(200)
      })
    await plant(scene, { kind: 'duplicate' })
    const updateId = await scene.ping()
    await until(() => receiver.held.now === 1)
    const stopped = scene.stopWorker(60_000)
    release()
    await stopped
    expect([receiver.calls.length, await attemptsOf(scene, updateId)]).toEqual([1, [[200, 'duplicate']]])
  })

  it('ends its second sending when a stop has waited for the grace time', async () => {
    const { scene, receiver } = await open()
    receiver.respond = () => (receiver.calls.length === 1 ? 200 : new Promise(() => {}))
    await plant(scene, { kind: 'duplicate' })
    const updateId = await scene.ping()
    await until(() => receiver.calls.length === 2)
    await scene.stopWorker(0)
    expect(await scene.delivery(updateId)).toMatchObject({ status: 'delivered', attempt_count: 1 })
    expect(await attemptsOf(scene, updateId)).toEqual([[200, 'duplicate']])
  })

  it.each(['first', 'second'])(
    'sends and records nothing more after a restore during the %s sending',
    async (which) => {
      const { scene, receiver } = await open()
      await scene.snapshots.save('before')
      let release = () => {}
      const held = new Promise<number>((resolve) => {
        release = () => resolve(200)
      })
      const at = which === 'first' ? 1 : 2
      receiver.respond = () => (receiver.calls.length === at ? held : 200)
      await plant(scene, { kind: 'duplicate' })
      await scene.ping()
      await until(() => receiver.calls.length === at)
      await scene.snapshots.restore('before')
      release()
      const { id } = await scene.untilStatus(await scene.ping(), 'delivered')
      // Waits for the attempts in flight.
      await scene.stopWorker(60_000)
      expect(receiver.calls.map(faultOf)).toEqual([...Array(at).fill('duplicate'), undefined])
      expect(scene.server.deps.attempts.of(id)).toHaveLength(1)
    },
  )
})

describe('planted fault late', () => {
  it('makes a program that applies updates as they arrive end with an older state', async () => {
    const state = { wrong: '', right: '' }
    let newest = 0
    const asTheyArrive: Program = (call) => {
      state.wrong = textOf(call)
      return 200
    }
    const byUpdateId: Program = (call) => {
      if (call.updateId > newest) state.right = textOf(call)
      newest = Math.max(newest, call.updateId)
      return 200
    }
    await runBoth([asTheyArrive, byUpdateId], { kind: 'late' }, ['old', 'new'])
    expect(state).toEqual({ wrong: 'old', right: 'new' })
  })

  it('late waits for the next update of its chat, of any status', { tags: 'faults-of-deliveries/3' }, async () => {
    const { scene, receiver, say: sayHere } = await open()
    const other = await newChat(scene.tenant, scene.bot)
    receiver.respond = (call) => (textOf(call) === 'next' ? 500 : 200)
    await plant(scene, { kind: 'late' })
    await sayHere('late')
    expect(await untilPostponed(scene, 1)).toMatchObject({ status: 'failed', attempt_count: 0, last_attempt_at: null })
    await say(scene.tenant, other, 'elsewhere')
    const ping = await scene.ping()
    await scene.untilStatus(ping, 'delivered')
    expect(updateIds(receiver).sort()).toEqual([2, ping])
    await sayHere('next')
    expect(await scene.untilStatus(1, 'delivered')).toMatchObject({ attempt_count: 1, last_error: null })
    expect(updateIds(receiver).slice(2)).toEqual([4, 1])
    expect(receiver.calls.map(faultOf)).toEqual([undefined, undefined, undefined, 'late'])
    expect(await attemptsOf(scene, 1)).toEqual([[200, 'late']])
  })

  it('without a chat waits for the next update without one', { tags: 'faults-of-deliveries/3' }, async () => {
    const { scene, receiver, say } = await open()
    await plant(scene, { kind: 'late' })
    await scene.ping()
    await untilPostponed(scene, 1)
    await say('in a chat')
    await scene.untilStatus(2, 'delivered')
    await scene.ping()
    await scene.untilStatus(1, 'delivered')
    expect(updateIds(receiver)).toEqual([2, 3, 1])
  })

  it('late ends after 10 s by the server clock without an update', { tags: 'faults-of-deliveries/3' }, async () => {
    const { scene, receiver, say } = await open()
    await plant(scene, { kind: 'late' })
    await say('late')
    await untilPostponed(scene, 1)
    scene.server.clock.advance(9_999)
    // A ping is answered after the worker has looked for due deliveries.
    await scene.untilStatus(await scene.ping(), 'delivered')
    expect(updateIds(receiver)).toEqual([2])
    scene.server.clock.advance(1)
    await scene.untilStatus(1, 'delivered')
  })

  it('of several updates sends them in their order after the next one', async () => {
    const { scene, receiver, say } = await open()
    await plant(scene, { kind: 'late', times: 3 })
    for (const text of ['a', 'b', 'c']) await say(text)
    await untilPostponed(scene, 3)
    await say('next')
    await scene.untilStatus(3, 'delivered')
    expect(updateIds(receiver)).toEqual([4, 1, 2, 3])
  })

  it('waits until a next update without a response gets one', { tags: 'faults-of-deliveries/3' }, async () => {
    const { scene, receiver, say } = await open()
    await plant(scene, { kind: 'late' })
    await say('late')
    await untilPostponed(scene, 1)
    scene.ports.delete(receiver.port)
    await say('next')
    await scene.untilStatus(2, 'failed')
    scene.ports.add(receiver.port)
    await scene.untilStatus(await scene.ping(), 'delivered')
    expect(updateIds(receiver)).toEqual([3])
    await scene.retry('2')
    await scene.untilStatus(1, 'delivered')
    expect(updateIds(receiver)).toEqual([3, 2, 1])
  })

  it.each(['before', 'after'] as const)('happens once if the store fails %s the commit', async (when) => {
    const { scene, receiver, say } = await open()
    const failed = failToPostpone(scene, when)
    await plant(scene, { kind: 'late' })
    await say('late')
    await until(() => failed.yet)
    // A new update wakes the worker, which would otherwise retry after a second.
    await say('next')
    await scene.untilStatus(1, 'delivered')
    expect(updateIds(receiver)).toEqual([2, 1])
    expect(await attemptsOf(scene, 1)).toEqual([[200, 'late']])
    expect(scene.workerErrors.splice(0)).toMatchObject([{ name: 'StoreUnavailable' }])
  })

  it('is stored if the server stops right after the claim', async () => {
    const { scene, receiver, say } = await open()
    const { store } = scene.server.deps
    const { write } = store
    let stopped: Promise<void> | undefined
    store.write = async (op, shared) => {
      const result = await write(op, shared)
      const { begun } = ((typeof result === 'object' ? result : null) as Partial<WorkerPassResult> | null) ?? {}
      if (begun !== undefined && begun.length > 0) stopped ??= scene.stopWorker(60_000)
      return result
    }
    await plant(scene, { kind: 'late' })
    await say('late')
    await until(() => stopped !== undefined)
    await stopped
    expect(await scene.delivery(1)).toMatchObject({ status: 'failed', last_error: { code: 'postponed' }, attempts: [] })
    await scene.startWorker()
    await say('next')
    await scene.untilStatus(1, 'delivered')
    expect(updateIds(receiver)).toEqual([2, 1])
  })

  it('waits on after a restart of the server', async () => {
    const { scene, receiver, say } = await open()
    await plant(scene, { kind: 'late' })
    await say('late')
    await untilPostponed(scene, 1)
    await scene.stopWorker(0)
    await scene.startWorker()
    await say('next')
    await scene.untilStatus(1, 'delivered')
    expect([updateIds(receiver), receiver.calls.map(faultOf)]).toEqual([
      [2, 1],
      [undefined, 'late'],
    ])
  })

  it('is part of a snapshot, whose restore sends the update once more', async () => {
    const { scene, receiver, say } = await open()
    await plant(scene, { kind: 'late' })
    await say('late')
    await untilPostponed(scene, 1)
    await scene.snapshots.save('postponed')
    await say('next')
    await scene.untilStatus(1, 'delivered')
    await scene.snapshots.restore('postponed')
    expect(await scene.delivery(1)).toMatchObject({ status: 'failed', last_error: { code: 'postponed' } })
    await say('next')
    await scene.untilStatus(1, 'delivered')
    expect(updateIds(receiver)).toEqual([2, 1, 2, 1])
  })

  it('ends with a reset, after which nothing is sent', async () => {
    const { scene, receiver, say } = await open()
    await plant(scene, { kind: 'late' })
    await say('late')
    await untilPostponed(scene, 1)
    await scene.snapshots.reset()
    scene.server.clock.advance(10_000)
    await scene.stopWorker(60_000)
    expect(receiver.calls).toEqual([])
  })

  it('of a deleted webhook leaves the update to a poll, or to the next webhook', async () => {
    const { scene, receiver, say } = await open()
    await plant(scene, { kind: 'late' })
    await say('late')
    await untilPostponed(scene, 1)
    await scene.tenant.console(contract.webhook.delete, { botId: scene.bot.id })
    expect(await scene.delivery(1)).toMatchObject({ status: 'cancelled', cancel_reason: 'webhook_deleted' })
    expect((await pollOf(scene.bot)).map((it) => it.update_id)).toEqual([1])
    scene.server.clock.advance(10_000)
    await scene.set(receiver)
    await scene.untilStatus(1, 'delivered')
    await say('next')
    await scene.untilStatus(2, 'delivered')
    expect(updateIds(receiver)).toEqual([1, 2])
  })

  it('of a confirmed or dropped update sends nothing', async () => {
    const { scene, receiver, say } = await open()
    await plant(scene, { kind: 'late', times: 2 })
    await say('confirmed')
    await untilPostponed(scene, 1)
    await scene.tenant.console(contract.webhook.delete, { botId: scene.bot.id })
    await pollOf(scene.bot, { offset: 2 })
    await scene.set(receiver)
    await say('dropped')
    await untilPostponed(scene, 2)
    await scene.set(receiver, { drop_pending_updates: true })
    scene.server.clock.advance(10_000)
    await say('next')
    await scene.untilStatus(3, 'delivered')
    expect(updateIds(receiver)).toEqual([3])
    expect((await scene.delivery(2)).cancel_reason).toBe('dropped')
  })

  it('of a disabled bot sends the update when the bot is enabled', async () => {
    const { scene, receiver, say } = await open()
    const { operator } = scene.tenant
    await plant(scene, { kind: 'late' })
    await say('late')
    await untilPostponed(scene, 1)
    await operator(contract.platform.disableBot, { botId: scene.bot.id })
    scene.server.clock.advance(10_000)
    const other = await scene.tenant.bot()
    await scene.set(receiver, {}, other)
    await scene.ping(other)
    await until(() => receiver.calls.length === 1)
    await operator(contract.platform.enableBot, { botId: scene.bot.id })
    await scene.untilStatus(1, 'delivered')
    expect(receiver.calls.map(faultOf)).toEqual([undefined, 'late'])
  })

  it('ends with a manual retry, which has no fault', async () => {
    const { scene, receiver, say } = await open()
    await plant(scene, { kind: 'late' })
    await say('late')
    await untilPostponed(scene, 1)
    await scene.retry('1')
    expect(await scene.untilStatus(1, 'delivered')).toMatchObject({ attempt_count: 0, manual_attempt_count: 1 })
    await say('next')
    scene.server.clock.advance(10_000)
    await scene.untilStatus(2, 'delivered')
    expect([updateIds(receiver), receiver.calls.map(faultOf)]).toEqual([
      [1, 2],
      [undefined, undefined],
    ])
  })
})

describe('planted fault lost', { tags: 'faults-of-deliveries/2' }, () => {
  it('fails an attempt without sending it; the schedule goes on and the endpoint is not failing', async () => {
    const { scene, receiver } = await open()
    await plant(scene, { kind: 'lost' })
    const updateId = await scene.ping()
    const lost = await scene.untilStatus(updateId, 'failed')
    expect(lost).toMatchObject({ attempt_count: 1, last_error: { code: 'planted_fault' } })
    expect([receiver.calls, await attemptsOf(scene, updateId)]).toEqual([[], [[null, 'lost']]])
    expect((await scene.info()).data).toMatchObject({ last_error_date: null, last_error_message: null })
    scene.server.clock.advance(60_000)
    expect(await scene.untilStatus(updateId, 'delivered')).toMatchObject({ attempt_count: 2, last_error: null })
    expect(receiver.calls.map(faultOf)).toEqual([undefined])
  })

  it('of each attempt makes the delivery a dead letter', async () => {
    const { scene, receiver } = await open()
    await plant(scene, { kind: 'lost', times: 5 })
    const updateId = await scene.ping()
    for (const attempts of [1, 2, 3, 4]) {
      await until(async () => (await scene.delivery(updateId)).attempts.length === attempts)
      scene.server.clock.advance(3_600_000)
    }
    await scene.untilStatus(updateId, 'dead_letter')
    expect([receiver.calls, await attemptsOf(scene, updateId)]).toEqual([[], Array(5).fill([null, 'lost'])])
    expect((await scene.tenant.operator(contract.platform.faults, {})).data.items).toEqual([])
  })
})

describe('planted faults of the signature', { tags: 'faults-of-deliveries/2' }, () => {
  const appliers =
    (applied: string[], toleranceSeconds: number, verifies = true): Program =>
    (call, { trueNow }) => {
      const { headers, body: rawBody } = call
      const verdict = verifyWebhook({ headers, rawBody, secrets: [SECRET], now: trueNow, toleranceSeconds })
      if (verifies && !verdict.ok) return 401
      applied.push(textOf(call))
      return 200
    }

  it.each([
    ['forged', 'verifies nothing', (applied: string[]) => appliers(applied, 300, false)],
    ['stale', 'ignores the timestamp', (applied: string[]) => appliers(applied, 86_400)],
  ] as const)('%s is applied by a program that %s, and refused by one that verifies', async (kind, _, careless) => {
    const [wrong, right] = [[] as string[], [] as string[]]
    const runs = await runBoth([careless(wrong), appliers(right, 300)], { kind }, ['one', 'two'])
    expect([wrong, right]).toEqual([
      ['one', 'two'],
      ['two', 'one'],
    ])
    expect(runs.map((it) => it.receiver.calls.map(faultOf))).toEqual([
      [kind, undefined],
      [kind, undefined, undefined],
    ])
    expect(runs.map(({ delivery }) => delivery?.attempts.map((it) => [it.status_code, it.fault]))).toEqual([
      [[200, kind]],
      [
        [401, kind],
        [200, undefined],
      ],
    ])
  })
})

describe('choice of deliveries by a planted fault', () => {
  /** The updates of the bot whose attempts had the fault. */
  const affected = async (scene: DeliveryScene) =>
    (await scene.deliveries())
      .filter((it) => it.attempts.some(({ fault }) => fault === 'duplicate'))
      .map((it) => it.update_id)
      .reverse()

  it('takes as many attempts from the chosen one on as it was given', async () => {
    const { scene, say } = await open()
    await plant(scene, { kind: 'duplicate', nth: 2, times: 2 })
    for (const text of ['1', '2', '3', '4']) await say(text)
    await scene.untilStatus(4, 'delivered')
    expect(await affected(scene)).toEqual([2, 3])
  })

  it('chooses the same share of attempts by the same seed', async () => {
    const { scene, say } = await open()
    const chosen: number[][] = []
    for (const from of [0, 20]) {
      await scene.tenant.operator(contract.platform.clearFaults, {})
      await plant(scene, { kind: 'duplicate', share: 0.4, seed: 7 })
      for (let n = 0; n < 20; n++) await say(String(n))
      await scene.untilStatus(from + 20, 'delivered')
      chosen.push((await affected(scene)).filter((it) => it > from).map((it) => it - from))
    }
    expect(chosen[1]).toEqual(chosen[0])
    expect(chosen[0]?.length).toBeGreaterThan(3)
    expect(chosen[0]?.length).toBeLessThan(15)
  })

  it.each([
    ['bot', (bot: string) => ({ bot }), [1, 2, 3]],
    ['another bot', () => ({ bot: 'bot_01JCZ3M7Q4X8V2N5K9R1T6W0YA' }), []],
    ['type', () => ({ type: 'ping' as const }), [3]],
    ['members of the body', () => ({ body: { message: { text: 'second' } } }), [2]],
    ['type and members that differ', () => ({ type: 'ping' as const, body: { message: { text: 'second' } } }), []],
  ])('matches %s', { tags: 'faults-of-deliveries/1' }, async (_, match, expected) => {
    const { scene, say } = await open()
    const planted = await plant(scene, { kind: 'duplicate', times: 9, match: match(scene.bot.id) })
    expect(planted.status).toBe(200)
    await say('first')
    await say('second')
    const last = await scene.ping()
    for (const updateId of [1, 2, last]) await scene.untilStatus(updateId, 'delivered')
    expect(await affected(scene)).toEqual(expected)
  })

  it('counts the attempts of the schedule, but no manual retry', { tags: 'faults-of-deliveries/1' }, async () => {
    const { scene, receiver } = await open()
    receiver.respond = () => 500
    const updateId = await scene.ping()
    await scene.untilStatus(updateId, 'failed')
    await plant(scene, { kind: 'lost' })
    await scene.retry(String(updateId))
    await until(async () => (await scene.delivery(updateId)).attempts.length === 2)
    scene.server.clock.advance(60_000)
    await until(async () => (await scene.delivery(updateId)).attempts.length === 3)
    expect(await attemptsOf(scene, updateId)).toEqual([
      [500, undefined],
      [500, undefined],
      [null, 'lost'],
    ])
  })
})

describe('detail of a delivery with a planted fault', () => {
  async function detailOf(scene: DeliveryScene, updateId: number) {
    const { id: deliveryId } = await scene.delivery(updateId)
    return (await scene.tenant.operator(contract.platform.delivery, { deliveryId })).data
  }

  it.each(['forged', 'stale'] as const)(
    'names %s as the only cause of a refusal, also after a restart',
    { tags: 'faults-of-deliveries/4' },
    async (kind) => {
      const { scene, receiver } = await open()
      receiver.respond = () => 401
      await plant(scene, { kind })
      const updateId = await scene.ping()
      await scene.untilStatus(updateId, 'failed')
      const text = `A planted fault (${kind}): the refusal is right.`
      const fix = 'Nothing is wrong: the server sends it again.'
      const hints = [{ code: 'planted_fault', text }]
      const detail = await detailOf(scene, updateId)
      expect(detail).toMatchObject({ hints, verification: { ok: false, explanation: text, fix } })
      expect(detail.responses).toMatchObject([{ fault: kind, status: 401 }])
      scene.server.deps.attempts.clear()
      const recomputed = await detailOf(scene, updateId)
      expect(recomputed).toMatchObject({ request: { of: 'recomputed' }, hints })
      expect(recomputed.request?.headers).toContainEqual(['X-Platform-Fault', kind])
    },
  )

  it('says that a lost attempt was not sent', async () => {
    const { scene } = await open()
    await plant(scene, { kind: 'lost' })
    const updateId = await scene.ping()
    await scene.untilStatus(updateId, 'failed')
    const hints = [{ code: 'planted_fault', text: 'A planted fault (lost): nothing was sent.' }]
    expect(await detailOf(scene, updateId)).toMatchObject({ hints })
  })

  it('explains a refusal by its own cause after a duplicate, and after a replay signed anew', async () => {
    const { scene, receiver } = await open()
    // A login, which only the second sending meets, is no cause of the recorded refusal.
    const login = { status: 401, headers: { 'www-authenticate': 'Basic' } }
    receiver.respond = () => (receiver.calls.length === 2 ? login : 401)
    await plant(scene, { kind: 'duplicate' })
    await plant(scene, { kind: 'forged', nth: 2 })
    // One after the other, so that the second sending of the first comes before the next.
    const duplicate = await scene.ping()
    await scene.untilStatus(duplicate, 'failed')
    const forged = await scene.ping()
    await scene.untilStatus(forged, 'failed')
    expect((await detailOf(scene, duplicate)).hints.map((it) => it.code)).toEqual(['other_secret', 'raw_body'])
    const { id: deliveryId } = await scene.delivery(forged)
    const replay = async (mode: 'as_sent' | 'resigned') =>
      (await scene.tenant.operator(contract.platform.replayDelivery, { deliveryId, mode })).data
    expect((await replay('as_sent')).hints.map((it) => it.code)).toEqual(['planted_fault'])
    // The clock of this server stands still, unlike the one of the receiver.
    expect((await replay('resigned')).hints.map((it) => it.code)).toEqual(['app_clock', 'other_secret', 'raw_body'])
    expect(receiver.calls.map(faultOf)).toEqual(['duplicate', 'duplicate', 'forged', 'forged', undefined])
  })
})
