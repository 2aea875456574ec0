import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { faultRules, faults, packed } from '../../src/webhooks/faults.js'
import { isDelivered, post } from '../../src/webhooks/post.js'
import { closedPort } from '../support/listen.js'

/** The servers of the README, as they are written there. */
const root = join(import.meta.dirname, '..', '..')
const programs = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```mjs\n(.*?)^```/gms)].map(
  (match) => match[1] as string,
)
const named = (words: string) => programs.filter((it) => it.includes(words))
// Below node_modules, where the packages of the examples are found from.
const dir = join(root, 'node_modules', '.cache', `voucherctl-readme-${process.pid}`)
const secret = 'whsec_test_secret_0123456789abcdef'

beforeAll(() => mkdirSync(dir, { recursive: true }))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** The program with the library of this source, as a file. */
async function written(name: string, contents: string): Promise<string> {
  const outfile = join(dir, `${name}.mjs`)
  await build({
    stdin: { contents, resolveDir: root, sourcefile: `${name}.mjs` },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    alias: { 'voucherctl/webhook': './src/webhooks/index.ts' },
    external: ['express', 'fastify'],
    logLevel: 'error',
  })
  return outfile
}

const run = (file: string, port: number) =>
  spawn(process.execPath, [file], {
    env: { PATH: process.env.PATH, PORT: String(port), VOUCHERCTL_WEBHOOK_SECRET: secret },
  })

/** Resolves when somebody listens there. */
async function listening(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    const answered = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
    socket.destroy()
    if (answered) return
  }
}

test('the README has a server for each of node:http, Express and Fastify, and a sender', () => {
  for (const words of ["'node:http'", "'express'", "'fastify'", 'fetch(']) expect(named(words)).toHaveLength(1)
  expect(programs).toHaveLength(4)
})

describe.each([
  ['node-http', "'node:http'"],
  ['express', "'express'"],
  ['fastify', "'fastify'"],
])('the %s server of the README', (name, words) => {
  async function start() {
    const port = await closedPort()
    const child = run(await written(name, named(words)[0] as string), port)
    const said = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk) => (said.stdout += chunk))
    child.stderr.on('data', (chunk) => (said.stderr += chunk))
    onTestFinished(async () => {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    })
    await listening(port)
    return { port, said, url: new URL(`http://127.0.0.1:${port}/hook`) }
  }
  const body = Buffer.from('{ "update_id": 41,\r\n "type": "ping", "text": "ü" }\n')
  const signing = () => ({ secret, timestamp: Math.floor(Date.now() / 1000) })

  test('takes a delivery byte for byte, acts once on its repeat, and explains what it refuses', async () => {
    const { url, said } = await start()
    const send = (bytes: Buffer) => {
      const { headers } = packed({ updateId: '41', body }, signing(), undefined)
      return post({ url, headers, body: bytes, timeoutMs: 5_000 })
    }
    expect((await send(body)).status).toBe(204)
    expect((await send(body)).status).toBe(204)
    expect((await send(Buffer.from(String(body).trim()))).status).toBe(401)
    expect((await send(Buffer.alloc(0))).status).toBe(401)
    expect((await fetch(url, { method: 'POST' })).status).toBe(401)
    expect(said.stdout).toBe('ping 41\n')
    expect(said.stderr).toContain('binary mode')
    expect(said.stderr).not.toContain(secret)
  }, 30_000)

  test('answers every fault as it should', async () => {
    const { url } = await start()
    for (const fault of faults) {
      const { headers, body: sent, paceMs } = packed({ updateId: '41', body }, signing(), fault)
      const posted = await post({ url, headers, body: sent, timeoutMs: 10_000, ...(paceMs ? { paceMs } : {}) })
      expect([fault, isDelivered(posted)]).toEqual([fault, faultRules[fault].right === 'accepted'])
      if (!isDelivered(posted)) expect(posted.status).toBe(401)
    }
  }, 30_000)

  test('takes what the sender of the README sends', async () => {
    const { port } = await start()
    const sender = run(await written(`sender-${name}`, named('fetch(')[0] as string), port)
    let stdout = ''
    sender.stdout.on('data', (chunk) => (stdout += chunk))
    await once(sender, 'close')
    expect(stdout).toBe('204\n')
  }, 30_000)
})

test('the library loads nothing but node:crypto', async () => {
  const { metafile } = await build({
    entryPoints: [join(root, 'src', 'webhooks', 'index.ts')],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
  })
  const [output] = Object.values(metafile.outputs)
  expect(new Set(output?.imports.map(({ path }) => path))).toEqual(new Set(['node:crypto']))
})
