import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Client, createClient } from '../../src/client/index.js'
import { defaultRateLimits, type RateLimit, type RateLimitName } from '../../src/contract/rate-limits.js'
import type { UpdateType } from '../../src/contract/updates.js'
import type { Seed } from '../../src/server/seed/schema.js'
import { startServer } from '../../src/testing/index.js'
import { defaultSeed } from '../../src/testing/options.js'
import type { NewFault, StartOptions } from '../../src/testing/types.js'
import { verifyWebhook } from '../../src/webhook/index.js'
import { built, firstLine } from '../support/cli/built-cli.js'
import { takeDatabase } from '../support/postgres/database.js'
import { until } from '../support/server/deliveries.js'
import { chunksOf } from '../support/server/request-body.js'
import { temporaryFolder } from '../support/server/server.js'
import { onPostgres } from '../support/store/engine-name.js'

/** A server to which the scenarios send their calls: from startServer() or the process of `server start`. */
interface Subject {
  /** Makes voucher calls encrypted, which the server requires. */
  readonly client: Client
  /** Makes voucher calls in plain text. */
  readonly plain: Client
  readonly startMs: number
  /** Absent on PostgreSQL, where startServer has no test clock. */
  advance?(seconds: number): unknown
  addFault(fault: NewFault): unknown
  reset(): Promise<unknown>
  /** Saves the state; returns a function that returns to it. */
  save(): Promise<() => Promise<unknown>>
  /** Body of the next update of a type for `bot_shop`. */
  receive(type: UpdateType): Promise<unknown>
  close(): Promise<void>
}

const seed: Seed = {
  ...defaultSeed,
  bots: [
    ...(defaultSeed.bots ?? []),
    { id: 'bot_till', name: 'Till bot', username: 'till_bot', application_id: 'app_shop', allowed_updates: ['ping'] },
  ],
}
const secret = 'a-secret-that-signs-deliveries'
/** Windows of an hour, so that none ends between the calls of two subjects. */
const limits = Object.fromEntries(
  Object.entries(defaultRateLimits).map(([name, { calls }]): [string, RateLimit] => [
    name,
    { calls: name === 'template_writes' ? 2 : calls, seconds: 3600 },
  ]),
) as Record<RateLimitName, RateLimit>

interface Arrived {
  readonly headers: IncomingHttpHeaders
  readonly rawBody: Buffer
  readonly body: { readonly type: UpdateType }
}

/** Receives webhooks; emits each delivery as an event named after its path and type. */
const receiver = createServer(async (request, response) => {
  const rawBody = Buffer.concat(await chunksOf(request))
  const body = JSON.parse(rawBody.toString())
  response.end()
  receiver.emit(`${request.url} ${body.type}`, { headers: request.headers, rawBody, body })
})
const hookOf = (path: string) => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`
const arrival = async (path: string, type: UpdateType) => (await once(receiver, `${path} ${type}`))[0] as Arrived

/** Returns the clients of a server at an address; none of them retries. */
async function clientsOf(baseUrl: string, operatorKey: string) {
  const token = seed.applications?.[0]?.tokens?.[0]?.token ?? ''
  const credentials = { token, bot: seed.bots?.[0]?.token, operator: operatorKey, jwt: '' }
  const settings = { baseUrl, token: (kind: keyof typeof credentials) => credentials[kind], retry: { tries: 1 } }
  const client = createClient({ ...settings, secure: { mode: 'required' } })
  const issued = await client.platform.issueAccountToken({ accountId: seed.account, expires_in_seconds: 31_536_000 })
  credentials.jwt = issued.ok ? issued.data.jwt : ''
  return { client, plain: createClient(settings) }
}

async function inProcess(options: StartOptions): Promise<Subject> {
  const server = await startServer({ ...options, seed, secure: 'required', rateLimit: limits })
  const { client, token, transport, operatorKey } = server
  const plain = createClient({ baseUrl: 'http://127.0.0.1', token, transport, retry: { tries: 1 } })
  return {
    ...(options.listen === false ? { client, plain } : await clientsOf(server.baseUrl, operatorKey)),
    startMs: server.clock.now().getTime(),
    ...(onPostgres ? {} : { advance: (seconds) => server.clock.advance(`${seconds}s`) }),
    addFault: server.faults.add,
    reset: server.reset,
    async save() {
      const saved = await server.snapshot()
      return () => server.restore(saved)
    },
    receive: (type) => server.receive(type, { within: 60_000 }),
    close: server.close,
  }
}

async function ofCommand(databaseUrl: string | undefined): Promise<Subject> {
  const home = temporaryFolder()
  writeFileSync(join(home, 'seed.json'), JSON.stringify(seed), { mode: 0o600 })
  const { port } = receiver.address() as AddressInfo
  const flags = `--port 0 --json --log-level silent --seed seed.json --require-secure --dev-webhook-loopback ${port}`
  const limitFlags = Object.entries(limits).flatMap(([name, it]) => [
    '--rate-limit',
    `${name}=${it.calls}/${it.seconds}`,
  ])
  const [place, env] =
    databaseUrl === undefined
      ? [['--memory', '--test-clock'], {}]
      : [['--data', 'data'], { VOUCHERCTL_DATABASE_URL: databaseUrl }]
  const child = built.start(['server', 'start', ...flags.split(' '), ...limitFlags, ...place], home, {
    TMPDIR: home,
    ...env,
  })
  const { base_url: baseUrl, operator_key_file: keyFile } = JSON.parse(await firstLine(child))
  const { client, plain } = await clientsOf(baseUrl, readFileSync(keyFile, 'utf8').trim())
  const clock = await client.platform.getClock()
  return {
    client,
    plain,
    startMs: clock.ok ? Date.parse(clock.data.now) : Date.now(),
    ...(onPostgres ? {} : { advance: (seconds) => client.platform.advanceClock({ seconds }) }),
    addFault: ({ times = 1, ...fault }) => client.platform.addFault({ times, ...fault }),
    reset: () => client.platform.reset({ shared: true }),
    async save() {
      const saved = await client.platform.saveSnapshot({ name: 'parity' })
      if (!saved.ok) throw new Error(saved.code)
      return () => client.platform.restoreSnapshot({ name: 'parity', shared: true })
    },
    async receive(type) {
      const arrives = arrival('/process', type)
      await client.webhook.set({ botId: 'bot_shop', url: hookOf('/process'), secret_token: secret })
      const { headers, rawBody, body } = await arrives
      expect(verifyWebhook({ headers, rawBody, secrets: [secret] })).toMatchObject({ ok: true })
      return body
    },
    async close() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** By the path of the webhooks of its scenarios. */
const subjects = new Map<string, Subject>()
const database = onPostgres ? takeDatabase() : undefined
beforeAll(async () => {
  await once(receiver.listen(0, '127.0.0.1'), 'listening')
  const databaseUrl = await database?.url
  const place = databaseUrl === undefined ? {} : { databaseUrl }
  subjects.set('/listen', await inProcess(place))
  subjects.set('/inject', await inProcess({ ...place, listen: false }))
  subjects.set('/process', await ofCommand(databaseUrl))
})
afterAll(async () => {
  await Promise.all([...subjects.values()].map((it) => it.close()))
  database?.release()
  receiver.closeAllConnections()
  receiver.close()
})

const order = (external_issue_id: string, template_id = 'tpl_coffee') => ({
  template_id,
  external_issue_id,
  recipient_user_id: 'user-1',
})

/** Issues a voucher and returns its redeem code. */
async function credentialOf({ client }: Subject, external: string) {
  const issued = await client.vouchers.issue(order(external))
  if (!issued.ok) throw new Error(issued.code)
  const value = issued.data.credentials.find((it) => it.type === 'redeem_code')?.value ?? ''
  return { type: 'redeem_code', value } as const
}

const code = (value: string) => ({ credential: { type: 'redeem_code', value } as const })

const DAY_SECONDS = 86_400

type Scenario = (subject: Subject, path: string) => Promise<unknown>

/** Calls whose results must be equal. */
const scenarios: Readonly<Record<string, Scenario>> = {
  'issue, its replay and a refused repetition': async ({ client }) => [
    await client.vouchers.issue(order('order-1'), { idempotencyKey: 'order-1' }),
    await client.vouchers.issue(order('order-1'), { idempotencyKey: 'order-1' }),
    await client.vouchers.issue(order('order-2'), { idempotencyKey: 'order-1' }),
    await client.vouchers.issue(order('order-1'), { idempotencyKey: 'order-2' }),
  ],

  'verify, redeem, replay, reverse and another redeem': async (subject) => {
    const { vouchers } = subject.client
    const credential = await credentialOf(subject, 'redeemed')
    const first = await vouchers.redeem({ credential, reference: 'till-1' }, { idempotencyKey: 'sale-1' })
    const redemptionId = first.ok ? first.data.id : ''
    return [
      first,
      await vouchers.verify({ credential }),
      await vouchers.redeem({ credential, reference: 'till-1' }, { idempotencyKey: 'sale-1' }),
      await vouchers.redeem({ credential }, { idempotencyKey: 'sale-2' }),
      await vouchers.reverse({ redemptionId, reason: 'returned' }, { idempotencyKey: 'back-1' }),
      await vouchers.reverse({ redemptionId, reason: 'returned' }, { idempotencyKey: 'back-1' }),
      await vouchers.redemption({ redemptionId }),
      await vouchers.redeem({ credential }, { idempotencyKey: 'sale-3' }),
    ]
  },

  'wrong codes, ids, credentials and inputs': async ({ client }) => [
    await client.vouchers.verify(code('AAAA-AAAA-AAAA-AAAA')),
    await client.vouchers.redeem(code('not a code'), { idempotencyKey: 'wrong-1' }),
    await client.vouchers.issue(order('wrong', 'tpl_none'), { idempotencyKey: 'wrong-2' }),
    await client.vouchers.issue({ template_id: 'tpl_coffee' } as never, { idempotencyKey: 'wrong-3' }),
    await client.apps.get({ appId: 'app_none' }),
    await client.bots.get({ botId: 'bot_none' }),
  ],

  'history of a voucher that was verified, redeemed twice and reversed': async (subject) => {
    const { vouchers, platform } = subject.client
    const credential = await credentialOf(subject, 'history')
    const verified = await vouchers.verify({ credential })
    const redeemed = await vouchers.redeem({ credential }, { idempotencyKey: 'history-1' })
    await vouchers.redeem({ credential }, { idempotencyKey: 'history-1' })
    await vouchers.reverse({ redemptionId: redeemed.ok ? redeemed.data.id : '' }, { idempotencyKey: 'history-2' })
    return [
      await platform.vouchers({ external_issue_id: 'history' }),
      await platform.voucher({ voucherId: verified.ok ? verified.data.voucher.id : '' }),
    ]
  },

  'lists and records of a seed': async ({ client }) => [
    await client.apps.list(),
    await client.templates.list({ limit: 1 }),
    await client.bots.get({ botId: 'bot_shop' }),
    await client.platform.reviews(),
    await client.platform.chats(),
  ],

  'faults that refuse a call, lose its response and delay it': async (subject) => {
    const { vouchers, apps } = subject.client
    const { addFault } = subject
    const credential = await credentialOf(subject, 'faulty')
    const redeem = () => vouchers.redeem({ credential }, { idempotencyKey: 'faulty' })
    await addFault({ endpoint: 'vouchers.redeem', kind: 'error' })
    await addFault({ endpoint: 'vouchers.redeem', kind: 'drop_response' })
    await addFault({ endpoint: 'apps.list', kind: 'drop_response' })
    await addFault({ endpoint: 'apps.list', kind: 'delay', delay_ms: 60_000 })
    const refused = [await redeem(), await redeem(), await redeem()]
    const dropped = await apps.list()
    const given = new AbortController()
    const delayed = apps.list({}, { signal: given.signal })
    // A call that ends before it reaches the server would leave the delay to the next one.
    await until(async () => {
      const faults = await subject.client.platform.faults()
      return faults.ok && faults.data.items.length === 0
    })
    given.abort()
    return [refused, [dropped, await delayed, await apps.list()], await subject.client.platform.clearFaults()]
  },

  'updates that a bot polls': async ({ client }) => {
    await client.platform.addUpdate({ botId: 'bot_shop', type: 'ping' })
    const polled = await client.bots.updates({})
    const last = polled.ok ? (polled.data.items.at(-1)?.update_id ?? 0) : 0
    return [polled, await client.bots.updates({ offset: last + 1 })]
  },

  'update of a redemption that a webhook receives': async (subject) => {
    const credential = await credentialOf(subject, 'received')
    await subject.client.vouchers.redeem({ credential }, { idempotencyKey: 'received' })
    return subject.receive('voucher_redeemed')
  },

  'signed delivery and the state of its webhook': async ({ client }, path) => {
    const arrives = arrival(path, 'ping')
    const set = await client.webhook.set({ botId: 'bot_till', url: hookOf(path), secret_token: secret })
    const added = await client.platform.addUpdate({ botId: 'bot_till', type: 'ping' })
    const { headers, rawBody, body } = await arrives
    const verdict = verifyWebhook({ headers, rawBody, secrets: [secret] })
    const forged = verifyWebhook({ headers, rawBody, secrets: ['another secret'] })
    return [set, added, Object.keys(headers).sort(), headers['content-type'], verdict, forged, body]
  },

  'rate limit of a group of calls': async ({ client }) => {
    const submit = () => client.templates.submit({ templateId: 'tpl_coffee' })
    return [await submit(), await submit(), await submit()]
  },

  'voucher calls in plain text': async ({ plain }) => [
    await plain.templates.list(),
    await plain.vouchers.verify(code('AAAA-AAAA-AAAA-AAAA')),
  ],

  'voucher that expires by the clock': async (subject) => {
    const { vouchers, platform } = subject.client
    const credential = await credentialOf(subject, 'expired')
    await subject.advance?.(29 * DAY_SECONDS)
    const before = await vouchers.verify({ credential })
    await subject.advance?.(2 * DAY_SECONDS)
    return [
      before,
      await vouchers.verify({ credential }),
      await vouchers.redeem({ credential }, { idempotencyKey: 'expired' }),
      await platform.getClock(),
      await platform.setClock({ now: '2020-01-01T00:00:00Z' }),
      await vouchers.issue(order('after'), { idempotencyKey: 'after' }),
    ]
  },

  'snapshot, return to it and reset': async (subject) => {
    const { vouchers, platform } = subject.client
    const credential = await credentialOf(subject, 'saved')
    const restore = await subject.save()
    const redeem = () => vouchers.redeem({ credential }, { idempotencyKey: 'saved' })
    const first = await redeem()
    await subject.advance?.(31 * DAY_SECONDS)
    const expired = await vouchers.verify({ credential })
    await restore()
    const restored = [await vouchers.verify({ credential }), await redeem(), await platform.getClock()]
    await subject.reset()
    return [first, expired, restored, await vouchers.verify({ credential }), await platform.getClock()]
  },
}

const HOUR_MS = 3_600_000

/** Headers of a connection, which light-my-request writes in another way. */
const ofConnection = /^(connection|keep-alive|transfer-encoding|content-length|date)$/

/** Text of a result with times in hours since the start, ids and codes in order of appearance, and without ports. */
function comparable(value: unknown, startMs: number): string {
  const seen = new Map<string, string>()
  const numbered = (text: string) => {
    const known = seen.get(text) ?? `#${seen.size + 1}`
    seen.set(text, known)
    return known
  }
  const text = JSON.stringify(
    value,
    (name, member) => {
      if (name === 'url' && typeof member === 'string') return 'URL'
      // Only a socket has an address that the text can name.
      if (member?.code === 'NETWORK_ERROR') return { ...member, message: 'TEXT' }
      if (name !== 'headers') return member
      const kept = Object.entries(member).filter(([it]) => !ofConnection.test(it))
      return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)))
    },
    1,
  )
  // UUIDs before codes: a part of one may look like a redeem code.
  return text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (it) => `${Math.round((Date.parse(it) - startMs) / HOUR_MS)} h`)
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|VQ1-[0-9A-Z]{33}/g, numbered)
    .replaceAll(/(?<=[a-z]{3,4}_)[0-9A-HJKMNP-TV-Z]{26}|(?:[0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}/g, numbered)
    .replaceAll(/(?<="codeHint": ")\w{4}/g, 'HINT')
    .replaceAll(/(?<=;t=|"retry-after": "|"timestamp": )\d+/g, 'SECONDS')
}

test.each(Object.entries(scenarios))('startServer and the process respond alike: %s', async (_name, scenario) => {
  const [listen, inject, process] = await Promise.all(
    [...subjects].map(async ([path, it]) => comparable(await scenario(it, path), it.startMs)),
  )
  expect(listen).toBe(process)
  expect(inject).toBe(process)
})
