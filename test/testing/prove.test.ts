import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { type Client, createClient } from '../../src/client/index.js'
import { prove } from '../../src/testing/index.js'
import type { ProveEnv, ProveOptions } from '../../src/testing/types.js'
import { verifyWebhook } from '../../src/webhook/index.js'

const clientOf = (env: ProveEnv) =>
  createClient({ baseUrl: env.VOUCHERCTL_BASE_URL ?? '', token: env.VOUCHERCTL_TOKEN ?? '', retry: { tries: 1 } })
const redeem = (client: Client, env: ProveEnv, idempotencyKey: string) => {
  const credential = { type: 'redeem_code' as const, value: env.VOUCHERCTL_CODE ?? '' }
  return client.vouchers.redeem({ credential }, { idempotencyKey })
}

test('finds nothing in a function that repeats with the same key', async () => {
  const action = async (env: ProveEnv) => (await redeem(clientOf(env), env, 'order-1')).ok
  const { findings, results } = await prove({ action, only: 'vouchers.redeem#1/drop_response' })
  expect(findings).toEqual([])
  expect(results).toMatchObject([{ variant: 'vouchers.redeem#1/drop_response', result: 'held' }])
})

test('finds a key for each run of a function, by what the platform has at the end', async () => {
  let runs = 0
  const action = async (env: ProveEnv) => (await redeem(clientOf(env), env, `run-${++runs}`)).ok
  const { findings } = await prove({ action, only: 'vouchers.redeem#1/drop_response' })
  expect(findings).toMatchObject([{ finding: 'voucher_lost', weight: 'money' }])
})

test('judges what a receiver of webhooks does by the state that a function returns', async () => {
  let received = 0
  let secret = ''
  const server = createServer(async (request, response) => {
    const rawBody = await buffer(request)
    const verdict = verifyWebhook({ headers: request.headers, rawBody, secrets: [secret] })
    if (verdict.ok) received += 1
    response.writeHead(verdict.ok ? 200 : 401).end()
  })
  const receiver = await new Promise<typeof server>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server))
  })
  onTestFinished(() => void receiver.close())
  const options: ProveOptions = {
    action: async (env) => {
      secret = env.VOUCHERCTL_WEBHOOK_SECRET ?? ''
      return (await redeem(clientOf(env), env, 'order-1')).ok
    },
    state: () => received,
    reset: () => {
      received = 0
    },
    webhook: { bot: 'coffee_bot', url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/` },
  }
  const { findings } = await prove({ ...options, only: 'deliveries#1/duplicate' })
  expect(findings).toMatchObject([{ finding: 'delivery_counted_twice' }])
  expect((await prove({ ...options, only: 'deliveries#1/forged' })).findings).toEqual([])
})

test('runs no kill of a function, and disturbs the rest within its budget', async () => {
  const action = async (env: ProveEnv) => (await redeem(clientOf(env), env, 'order-1')).ok
  const { results, runs } = await prove({ action, budget: 1_000 })
  expect(results.filter((it) => it.variant.includes('kill'))).toEqual([])
  expect(runs.variants).toBeGreaterThan(2)
})

test.each<[why: string, options: object, message: string]>([
  ['without an action', {}, 'options.action must be a function'],
  ['with an unknown option', { action: () => {}, budgetMs: 1 }, 'budget'],
  ['with a budget of 0', { action: () => {}, budget: 0 }, 'options.budget must be an integer from 1'],
  ['for a function that makes no call', { action: () => {} }, 'Nothing to disturb'],
  ['for a function that fails undisturbed', { action: () => Promise.reject(new Error('no stock')) }, 'no stock'],
])('refuses to prove %s', async (_why, options, message) => {
  await expect(prove(options as ProveOptions)).rejects.toThrow(message)
})
