import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Inbox } from '../../../../src/workbench/inbox.js'
import { built } from '../../../support/cli/built-cli.js'
import { cli, temporaryDir } from '../../../support/cli/cli.js'
import { listen } from '../../../support/listen.js'
import { secret, signed, updateBody } from '../../../support/webhook/listener.js'

const env = { VOUCHERCTL_WEBHOOK_SECRET: secret }

async function start(home: string, args: readonly string[] = [], inbox = 'inbox') {
  const file = join(home, 'ready.json')
  // A killed listener leaves its ready file, which would end the wait below too early.
  rmSync(file, { force: true })
  const flags = ['--port', '0', '--ready-file', 'ready.json', '--inbox', inbox, ...args]
  const child = built.start(['webhook', 'listen', ...flags], home, env)
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => (output.stdout += chunk))
  child.stderr?.on('data', (chunk) => (output.stderr += chunk))
  await vi.waitFor(() => expect(existsSync(file)).toBe(true), 120_000)
  return { child, output, port: JSON.parse(readFileSync(file, 'utf8')).port as number }
}

/** Sends a signed delivery; resolves with the response status, rejects if the connection breaks. */
function send(port: number, id: number, agent: Agent, body = updateBody(id)): Promise<number> {
  const at = Math.floor(Date.now() / 1000)
  const headers = { ...signed(body, id, [secret], at), 'Content-Length': body.length }
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method: 'POST', agent, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

const exitOf = async (child: ChildProcess) => {
  const [exit, signal] = await once(child, 'close')
  return exit ?? signal
}

test('a killed webhook listen has recorded each delivery that got a response', { tags: 'inbox-files/2' }, async () => {
  const home = temporaryDir()
  const responses: number[] = []
  let id = 0
  for (let round = 0; round < 2; round++) {
    const { child, port } = await start(home)
    const agent = new Agent({ keepAlive: true })
    const sender = async () => {
      for (;;) {
        const mine = ++id
        try {
          if ((await send(port, mine, agent, updateBody(mine, 'message', 'x'.repeat(mine % 3_000)))) !== 200) return
        } catch {
          return
        }
        responses.push(mine)
        if (responses.length >= 150 * (round + 1)) child.kill('SIGKILL')
      }
    }
    const exit = exitOf(child)
    await Promise.all(Array.from({ length: 16 }, sender))
    expect(await exit).toBe('SIGKILL')
    agent.destroy()

    const inbox = new Inbox(join(home, 'inbox'))
    const recorded = new Set(inbox.find({}).map((it) => Number(inbox.read(it.id)?.update_id)))
    expect(responses.filter((it) => !recorded.has(it))).toEqual([])
    expect([...recorded].every((it) => it >= 1 && it <= id)).toBe(true)
  }
})

test('concurrent listeners record in separate files after inbox clear', { tags: 'inbox-files/1' }, async () => {
  const dir = join(temporaryDir(), 'inbox')
  const listeners = await Promise.all(Array.from({ length: 4 }, () => start(temporaryDir(), [], dir)))
  const agent = new Agent()
  for (const [at, { port }] of listeners.entries()) expect(await send(port, at + 1, agent)).toBe(200)
  const ids = new Inbox(dir).find({}).map(({ id }) => id)
  expect(ids.sort()).toEqual(['1-1', '2-1', '3-1', '4-1'])
  const clear = async () => (await cli(`webhook inbox clear --yes --inbox ${dir}`, { home: temporaryDir(), env })).exit
  expect(await clear()).toBe(0)
  for (const [at, { port, child }] of listeners.entries()) {
    expect(await send(port, at + 5, agent)).toBe(200)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  expect(
    new Inbox(dir)
      .find({})
      .map(({ id }) => id)
      .sort(),
  ).toEqual(['1-2', '2-2', '3-2', '4-2'])
})

test('webhook listen completes the delivery in flight on SIGTERM (exit 0) and SIGINT (130)', async () => {
  for (const [signal, exit] of [
    ['SIGTERM', 0],
    ['SIGINT', 130],
  ] as const) {
    const home = temporaryDir()
    let arrived!: () => void
    let finish!: () => void
    const arrival = new Promise<void>((resolve) => (arrived = resolve))
    const app = createServer((incoming, response) => {
      incoming.resume()
      finish = () => response.writeHead(202).end()
      arrived()
    })
    const to = `http://127.0.0.1:${await listen(app)}/`
    const { child, output, port } = await start(home, ['--forward-to', to])
    const ended = exitOf(child)
    const agent = new Agent()
    const sent = send(port, 7, agent)
    await arrival
    child.kill(signal)
    // The listener still waits for the application but must refuse new connections.
    await vi.waitFor(() => expect(isOpen(port)).resolves.toBe(false), 120_000)
    finish()
    expect(await sent).toBe(202)
    expect(await ended).toBe(exit)
    expect(output.stdout).toMatch(/ok {8}message #7 {22}202 {2} .* 1-1\n$/)
    expect(output.stderr).toMatch(
      /^Ready on http:\/\/127\.0\.0\.1:\d+\. Ctrl-C stops it\.\nForwards to .*\nInbox: .*\nDetails of a delivery: `voucherctl webhook inbox show --inbox inbox`\n$/,
    )
    expect(existsSync(join(home, 'ready.json'))).toBe(false)
  }
})

test('webhook inbox show --raw writes binary bodies unchanged', async () => {
  const home = temporaryDir()
  const { child, port } = await start(home)
  const ended = exitOf(child)
  const body = Buffer.from(Array.from({ length: 256 }, (_, at) => at))
  expect(await send(port, 1, new Agent(), body)).toBe(401)
  child.kill('SIGTERM')
  await ended
  const raw = built.start(['webhook', 'inbox', 'show', '1-1', '--raw', '--inbox', 'inbox'], home)
  const chunks: Buffer[] = []
  raw.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(raw, 'close')
  expect(Buffer.concat(chunks).equals(body)).toBe(true)
})

test.runIf(process.platform === 'linux')(
  'webhook listen responds 503 to a delivery that it cannot record and keeps running',
  async () => {
    const home = temporaryDir()
    const { child, port } = await start(home, [])
    const agent = new Agent({ keepAlive: true })
    expect(await send(port, 1, agent)).toBe(200)
    // Simulate a full disk with a file size limit that the next recorded line exceeds.
    const size = statSync(join(home, 'inbox', '000001.ndjson')).size
    execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${size + 300}:unlimited`])
    expect(await send(port, 2, agent, updateBody(2, 'message', 'x'.repeat(3_000)))).toBe(503)
    execFileSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited:unlimited'])
    expect(await send(port, 2, agent)).toBe(200)
    const inbox = new Inbox(join(home, 'inbox'))
    expect(inbox.find({}).map((it) => inbox.read(it.id)?.update_id)).toEqual(['1', '2'])
    expect(inbox.damage).toEqual([])
    agent.destroy()
  },
)
