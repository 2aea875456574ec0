import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultRules, faults, signWithFault } from '../../src/workbench/faults.js'
import { isDelivered, post } from '../../src/workbench/post.js'
import { folder, installed, node } from './installed.js'

const guide = readFileSync(join(installed, 'src', 'guides', 'webhook-library.md'), 'utf8')
const programs = [...guide.matchAll(/^```mjs\n(.*?)^```/gms)].map((match) => match[1] as string)
const named = (words: string) => programs.filter((it) => it.includes(words))
// Programs in a subfolder of the installation can import express, fastify and voucherctl/webhook.
const dir = join(folder, 'webhook-servers')
const secret = 'whsec_test_secret_0123456789abcdef'
/** Pause in ms between the parts of a slow body; the 2 s of `webhook trigger` would slow the test. */
const PACE_MS = 200

beforeAll(() => {
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'receive.mjs'), named('verifyWebhook(')[0] as string)
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** Starts the program of the webhook guide that contains `words`. */
function start(words: string, port: number, ...nodeOptions: readonly string[]) {
  const file = join(dir, `${words.replaceAll(/\W/g, '')}.mjs`)
  writeFileSync(file, named(words)[0] as string)
  const child = spawn(node, [...nodeOptions, file], {
    env: { PATH: process.env.PATH, PORT: String(port), VOUCHERCTL_WEBHOOK_SECRET: secret, WEBHOOK_DEBUG: '1' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => (output.stdout += chunk))
  child.stderr?.on('data', (chunk) => (output.stderr += chunk))
  return { child, output }
}

/** Module to preload with --import: a server sends its port to the parent process. */
const reportPort = `data:text/javascript,${encodeURIComponent(`
  import { Server } from 'node:net'
  const { listen } = Server.prototype
  Server.prototype.listen = function (...args) {
    return listen.apply(this.once('listening', () => process.send(this.address().port)), args)
  }
`)}`

test('the webhook guide has a receiver and one server each for node:http, Express and Fastify', () => {
  for (const words of ["'node:http'", "'express'", "'fastify'", 'verifyWebhook(']) expect(named(words)).toHaveLength(1)
  expect(programs).toHaveLength(4)
})

describe.each([
  ['node-http', "'node:http'"],
  ['express', "'express'"],
  ['fastify', "'fastify'"],
])('server of the webhook guide: %s', (_name, words) => {
  let server: ReturnType<typeof start>
  let port: number
  let url: URL
  beforeAll(async () => {
    server = start(words, 0, '--import', reportPort)
    port = await new Promise<number>((resolve, reject) => {
      server.child.once('message', (message) => resolve(Number(message)))
      server.child.once('exit', () => reject(new Error(server.output.stderr)))
    })
    url = new URL(`http://127.0.0.1:${port}/hook`)
  })
  afterAll(async () => {
    server.child.kill('SIGKILL')
    if (server.child.exitCode === null && server.child.signalCode === null) await once(server.child, 'exit')
  })
  const body = Buffer.from('{ "update_id": 41,\r\n "type": "ping", "text": "ü" }\n')
  const signing = () => ({ secret, timestamp: Math.floor(Date.now() / 1000) })

  test('a server of the guide accepts a delivery, ignores its duplicate and explains refusals', async () => {
    const send = (bytes: Buffer) => {
      const { headers } = signWithFault({ updateId: '41', body }, signing(), undefined)
      return post({ url, headers, body: bytes, timeoutMs: 60_000 })
    }
    expect((await send(body)).status).toBe(204)
    expect((await send(body)).status).toBe(204)
    expect((await send(Buffer.from(String(body).trim()))).status).toBe(401)
    expect((await send(Buffer.alloc(0))).status).toBe(401)
    expect((await fetch(url, { method: 'POST' })).status).toBe(401)
    expect(server.output.stdout).toBe('ping 41\n')
    expect(server.output.stderr).toContain('binary mode')
    expect(server.output.stderr).not.toContain(secret)
  })

  test('a server of the guide responds 401 to each fault that a receiver must refuse', async () => {
    const postOf = async (fault: (typeof faults)[number]) => {
      const { headers, body: sent, paceMs } = signWithFault({ updateId: '41', body }, signing(), fault)
      const pace = paceMs === undefined ? {} : { paceMs: PACE_MS }
      return { fault, posted: await post({ url, headers, body: sent, timeoutMs: 60_000, ...pace }) }
    }
    for (const { fault, posted } of await Promise.all(faults.map(postOf))) {
      expect([fault, isDelivered(posted)]).toEqual([fault, faultRules[fault].right === 'accepted'])
      if (!isDelivered(posted)) expect(posted.status).toBe(401)
    }
  })
})

test('the webhook library loads node:crypto, node:buffer and node:util only', () => {
  const text = readFileSync(join(installed, 'dist', 'webhook', 'index.cjs'), 'utf8')
  const imported = [...text.matchAll(/\b(?:require|import|getBuiltinModule)\s*\(\s*["'`]([^"'`]+)/g)].map(
    ([, name]) => name,
  )
  expect(new Set(imported)).toEqual(new Set(['node:crypto', 'node:buffer', 'node:util']))
})
