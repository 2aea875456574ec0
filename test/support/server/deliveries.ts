import { createServer, type IncomingHttpHeaders } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { InputOf } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import type { Delivery } from '../../../src/contract/webhook.js'
import { type Sender, type SenderOptions, WebhookSender } from '../../../src/server/delivery/sender.js'
import { DeliveryWorker } from '../../../src/server/delivery/worker.js'
import { Snapshots } from '../../../src/server/snapshots.js'
import { verifyWebhook } from '../../../src/webhook/signature.js'
import { listen } from '../listen.js'
import { type TestApp, testApp } from './app.js'
import { chunksOf } from './request-body.js'
import { newTenant, type Tenant, type TestBot } from './tenant.js'

/** A webhook delivery that a receiver got. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly updateId: number
}

export type ReceiverResponse =
  | number
  | { readonly status: number; readonly headers: Record<string, string>; readonly body?: string | Buffer }

export interface Receiver {
  readonly port: number
  readonly url: string
  readonly calls: Received[]
  /** Number of deliveries that wait for a response: `now` and the maximum so far, `most`. */
  readonly held: { now: number; most: number }
  /** Returns the response to a delivery; a test may replace this function. */
  respond: (call: Received) => ReceiverResponse | Promise<ReceiverResponse>
}

/** Starts a webhook receiver on a loopback port; it responds 200 unless a test replaces `respond`. */
export async function newReceiver(): Promise<Receiver> {
  const calls: Received[] = []
  const held = { now: 0, most: 0 }
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await chunksOf(request))
    const { update_id: updateId } = JSON.parse(body.toString('utf8')) as { update_id: number }
    const call = { path: request.url ?? '', headers: request.headers, body, updateId }
    calls.push(call)
    held.now += 1
    held.most = Math.max(held.most, held.now)
    const chosen = await receiver.respond(call)
    held.now -= 1
    if (typeof chosen === 'number') response.writeHead(chosen).end()
    else response.writeHead(chosen.status, chosen.headers).end(chosen.body)
  })
  const port = await listen(server)
  const receiver: Receiver = { port, url: `http://127.0.0.1:${port}/hook`, calls, held, respond: () => 200 }
  return receiver
}

/** Longest pause in ms between two checks of `until`. */
const PAUSE_MS_MAX = 16

/** Checks a condition until it is true, with growing pauses: many checks call the server. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  // The timer lets the sockets and the store make progress; the test time-out limits the wait.
  for (let pause = 1; !(await holds()); pause = Math.min(2 * pause, PAUSE_MS_MAX)) await setTimeout(pause)
}

export const SECRET = 'a-secret-that-signs'

/** A server with a delivery worker, an account and a bot; only the test advances the server clock. */
export class DeliveryScene {
  #worker: DeliveryWorker | undefined
  /** Real time in Unix ms, which the worker uses to sign deliveries. */
  trueNow = Date.now()
  readonly workerErrors: unknown[] = []
  /** Resets and restores that the worker takes part in. */
  readonly snapshots: Snapshots

  private constructor(
    readonly server: TestApp,
    readonly ports: Set<number>,
    readonly tenant: Tenant,
    readonly bot: TestBot,
  ) {
    this.snapshots = new Snapshots(server.deps)
  }

  static async open(options: { started?: boolean } = {}): Promise<DeliveryScene> {
    const ports = new Set<number>()
    const lookup = async () => ['93.184.215.14']
    const webhooks = { loopbackPorts: ports, egressIps: ['198.51.100.7'], lookup }
    const server = testApp({ webhooks, sender: new WebhookSender(webhooks) })
    const tenant = await newTenant(server)
    const scene = new DeliveryScene(server, ports, tenant, await tenant.bot())
    const unfollow = scene.snapshots.follow()
    onTestFinished(async () => {
      unfollow()
      await scene.stopWorker(0)
      await server.close()
    })
    if (options.started !== false) await scene.startWorker()
    return scene
  }

  async startWorker({ slots, ...options }: SenderOptions & { readonly slots?: number } = {}): Promise<void> {
    const sender: Sender = new WebhookSender({ loopbackPorts: this.ports, ...options })
    const { store, clock, keys, attempts, faults } = this.server.deps
    const onError = (error: unknown) => this.workerErrors.push(error)
    this.#worker = new DeliveryWorker({
      ...{ store, clock, keys, sender, slots, faults, attempts, onError },
      trueNow: () => this.trueNow,
      onAttempt: this.server.metrics.attemptEnded,
    })
    this.snapshots.include(this.#worker)
    await this.#worker.start({ alone: true })
  }

  async stopWorker(graceMs: number): Promise<void> {
    await this.#worker?.stop(graceMs)
    this.#worker = undefined
    if (this.workerErrors.length > 0) throw this.workerErrors[0]
  }

  async receiver(): Promise<Receiver> {
    const receiver = await newReceiver()
    this.ports.add(receiver.port)
    return receiver
  }

  set(receiver: Pick<Receiver, 'url'>, input: Partial<InputOf<typeof contract.webhook.set>> = {}, bot = this.bot) {
    const webhook = { url: receiver.url, secret_token: SECRET, ...input }
    return this.tenant.console(contract.webhook.set, { botId: bot.id, ...webhook })
  }

  /** Adds a ping update to a bot and returns its update_id; a ping needs no chat. */
  async ping(bot = this.bot): Promise<number> {
    const input = { botId: bot.id, type: 'ping' as const, payload: {} }
    const made = await this.tenant.operator(contract.platform.addUpdate, input)
    if (made.status !== 200) throw new Error(made.text)
    return made.data.update_id
  }

  async deliveries(filter: { status?: Delivery['status']; limit?: number } = {}, bot = this.bot): Promise<Delivery[]> {
    const listed = await this.tenant.console(contract.webhook.deliveries, { botId: bot.id, limit: 100, ...filter })
    return listed.data.items
  }

  async delivery(updateId: number): Promise<Delivery> {
    const found = (await this.deliveries()).find((it) => it.update_id === updateId)
    if (found === undefined) throw new Error(`update ${updateId} has no delivery`)
    return found
  }

  /** Waits for a status of a delivery, and until the log of the server holds the attempts that led to it. */
  async untilStatus(updateId: number, status: Delivery['status']): Promise<Delivery> {
    await until(async () => {
      const { id, status: current, attempts } = await this.delivery(updateId)
      // The server makes no entry for the attempt of a process that died.
      const logged = attempts.filter((it) => it.error?.code !== 'lease_expired').length
      return current === status && this.server.deps.attempts.of(id).length >= logged
    })
    return this.delivery(updateId)
  }

  retry(deliveryId: string, input: { force?: boolean } = {}) {
    return this.tenant.console(contract.webhook.retry, { botId: this.bot.id, deliveryId, ...input })
  }

  info() {
    return this.bot.call(contract.webhook.info, {})
  }

  verdict({ headers, body }: Received, secrets: readonly string[] = [SECRET]) {
    return verifyWebhook({ headers, rawBody: body, secrets, now: this.trueNow })
  }
}
