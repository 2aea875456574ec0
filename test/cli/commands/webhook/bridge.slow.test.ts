import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { built } from '../../../support/cli/built-cli.js'
import { cli, temporaryDir } from '../../../support/cli/cli.js'
import { type ReceivedDelivery, webhookReceiver } from '../../../support/webhook/receiver.js'

const secret = 'whsec_test_secret_0123456789abcdef'

/** Starts a detached server with a bot; returns functions that send messages and start bridge processes. */
async function startServerWithBot() {
  const home = temporaryDir()
  // Only the detached server and the bridge run as separate processes.
  const local = {
    home,
    now: Date.now(),
    env: { PATH: process.env.PATH ?? '' },
    self: [process.execPath, built.bin],
  } as const
  const run = async (...args: string[]) => {
    const { stdout, stderr, exit } = await cli([...args, '--json'], local)
    if (exit !== 0) throw new Error(`${args.join(' ')}: ${stderr}`)
    return JSON.parse(stdout)
  }
  const start = (port: string) => run('server', 'start', '--detach', '--port', port, '--auto-approve')
  const { port } = new URL((await start('0')).base_url)
  onTestFinished(async () => void (await cli('server stop', local)))
  await run('login', '--local', '--account', 'acme')
  const { id: bot } = await run('bots', 'apply', '--name', 'Coffee', '--username', 'coffee_bot')
  await run('bots', 'get', bot, '--save')
  const { id: chat } = await run('platform', 'users', 'start', '--bot', bot, '--user', 'user-42')
  const say = (text: string) => run('platform', 'users', 'send', chat, '--text', text)
  const waiting = async () =>
    ((await run('bots', 'updates')).items as { update_id: number }[]).map((it) => it.update_id)
  const bridge = (url: string, ...flags: string[]) => {
    const args = ['webhook', 'bridge', '--forward-to', url, '--retry-fast', ...flags]
    const child = built.start(args, home, { VOUCHERCTL_WEBHOOK_SECRET: secret })
    let text = ''
    let wake = () => {}
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        text += chunk
        wake()
      })
    }
    onTestFinished(() => void child.kill('SIGKILL'))
    const said = async (words: string) => {
      const exited = once(child, 'exit').then(() => Promise.reject(new Error(`It ended: ${text}`)))
      const printed = async () => {
        while (!text.includes(words)) await new Promise<void>((resolve) => (wake = resolve))
      }
      exited.catch(() => {})
      await Promise.race([printed(), exited])
    }
    return { child, said }
  }
  return { run, startAgain: () => start(port), say, waiting, bridge }
}

/** A promise that a test resolves. */
function latch() {
  let resolve = () => {}
  const promise = new Promise<void>((it) => {
    resolve = it
  })
  return { promise, resolve }
}

/** Records the update_ids that the app accepts; `until` waits until there are `count` of them. */
function taken() {
  const ids: number[] = []
  let wake = () => {}
  const take = ({ verdict }: ReceivedDelivery) => {
    if (!verdict.ok) return 401
    ids.push(Number(verdict.updateId))
    wake()
    return 200
  }
  const until = async (count: number) => {
    while (ids.length < count) await new Promise<void>((resolve) => (wake = resolve))
  }
  return { ids, take, until }
}

const ended = async (child: ChildProcess) => {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode ?? child.signalCode
}

test('webhook bridge delivers an update after a restart if it was killed during the delivery', async () => {
  const { say, waiting, bridge } = await startServerWithBot()
  for (const text of ['a', 'b', 'c']) await say(text)
  const { ids, take, until } = taken()
  const inFlight = latch()
  let holds = true
  const app = await webhookReceiver(secret, async (delivery) => {
    if (!holds || !delivery.verdict.ok || delivery.verdict.updateId !== '3') return take(delivery)
    holds = false
    inFlight.resolve()
    // Send no response, so that the test kills the bridge during the delivery.
    await new Promise(() => {})
    return 500
  })
  const killed = bridge(app.url)
  await inFlight.promise
  killed.child.kill('SIGKILL')
  await ended(killed.child)
  expect(ids).toEqual([1, 2])
  expect(await waiting()).toEqual(expect.arrayContaining([3, 4]))

  const next = bridge(app.url, '--secure', 'required')
  await next.said('Ready')
  while (!ids.includes(4)) await until(ids.length + 1)
  expect(new Set(ids)).toEqual(new Set([1, 2, 3, 4]))
  expect(ids.slice(ids.lastIndexOf(3))).toEqual([3, 4])
  next.child.kill('SIGINT')
  expect(await ended(next.child)).toBe(130)
  expect(await waiting()).toEqual([])
})

test('webhook bridge completes and confirms the delivery in flight on SIGINT and starts no other', async () => {
  const { say, waiting, bridge } = await startServerWithBot()
  await say('a')
  const asked = latch()
  const response = latch()
  const app = await webhookReceiver(secret, async () => {
    asked.resolve()
    await response.promise
    return 200
  })
  const { child, said } = bridge(app.url)
  await asked.promise
  child.kill('SIGINT')
  await said('Ending after the delivery in flight.')
  response.resolve()
  expect(await ended(child)).toBe(130)
  expect(app.received).toHaveLength(1)
  expect(await waiting()).toEqual([2])
})

test('webhook bridge delivers every update despite a server restart and failing deliveries', async () => {
  const { run, startAgain, say, waiting, bridge } = await startServerWithBot()
  const { ids, take, until } = taken()
  let failing = 2
  const app = await webhookReceiver(secret, (delivery) => (failing-- > 0 ? 503 : take(delivery)))
  const { child, said } = bridge(app.url)
  await until(1)
  await run('server', 'stop')
  await said('disconnected')
  await startAgain()
  await said('reconnected')
  await say('b')
  await until(2)
  expect(ids).toEqual([1, 2])
  child.kill('SIGINT')
  expect(await ended(child)).toBe(130)
  expect(await waiting()).toEqual([])
})
