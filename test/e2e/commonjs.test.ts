import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { environment, folder, jest, node, patient } from './installed.js'

const project = join(folder, 'commonjs')
const libraries = ['client', 'secure', 'testing', 'webhook']

beforeAll(() => mkdirSync(project))
afterAll(() => rmSync(project, { recursive: true, force: true }))

function run(file: string, text: string, ...args: string[]) {
  writeFileSync(join(project, file), text)
  // Without the flag, Node also requires ES modules, which Jest cannot.
  const flags = ['--no-experimental-require-module', ...args]
  const options = { cwd: project, env: { ...environment, NO_COLOR: '1' }, extendEnv: false, reject: false, all: true }
  return execa(node, [...flags, file], { ...options, stdin: 'ignore' })
}

const session = `
const { createClient, createPoolTransport, TransportError } = require('voucherctl/client')
const { createSecureSession, SUITE } = require('voucherctl/secure')
const { startServer } = require('voucherctl/testing')
const { signWebhook, verifyWebhook } = require('voucherctl/webhook')

test('the libraries work together', async () => {
  const server = await startServer()
  const pool = await createPoolTransport(server.baseUrl)
  const credential = { type: 'redeem_code', value: 'M9S3-46Q3-D25V-T4FJ' }
  const { baseUrl, token } = server
  const codes = []
  for (const options of [{}, { transport: pool.send }, { secure: { mode: 'required' } }]) {
    const result = await createClient({ baseUrl, token, ...options }).vouchers.verify({ credential })
    codes.push(result.ok ? result.data : result.code)
  }
  await pool.close()
  await server.close()
  expect(new Set(codes)).toEqual(new Set(['VOUCHER_NOT_FOUND']))
  const headers = signWebhook({ rawBody: '{}', secrets: ['s'], timestamp: 1, updateId: 1 })
  expect(verifyWebhook({ headers, rawBody: '{}', secrets: ['s'], now: 1_000 })).toMatchObject({ reason: 'body_without_update_id' })
  expect([SUITE, typeof createSecureSession, new TransportError('lost', 'x').kind]).toEqual([expect.any(String), 'function', 'lost'])
})
`

test('require() loads all four libraries in Jest, with the pool and the encrypted transport', async () => {
  const { all, exitCode } = await run('session.test.cjs', session, jest, patient, '--rootDir', project)
  expect({ all, exitCode }).toEqual({ all: expect.stringMatching(/^Tests: +1 passed, 1 total$/m), exitCode: 0 })
  expect(all).not.toMatch(/warning/i)
})

test('import and require of a library return the same functions and classes', async () => {
  const program = `
    import { createRequire } from 'node:module'
    const require = createRequire(import.meta.url)
    for (const name of ${JSON.stringify(libraries)}) {
      const [imported, required] = [await import('voucherctl/' + name), require('voucherctl/' + name)]
      const names = Object.keys(required)
      const isSame = names.every((it) => imported[it] === required[it]) && names.length === Object.keys(imported).length
      console.log(name, isSame && names.length > 0)
    }`
  const { all } = await run('same.mjs', program)
  expect(all).toBe(libraries.map((it) => `${it} true`).join('\n'))
})

const uncaught: readonly [string, string][] = [
  ['createClient of client', `require('voucherctl/client').createClient({ baseUrl: 'x' })`],
  ['a pool of client', `require('voucherctl/client').createPoolTransport('x')`],
  ['loadServerKey of secure', `require('voucherctl/secure').loadServerKey('x')`],
  ['startServer of testing', `require('voucherctl/testing').startServer({ seed: '/none.yaml' })`],
  ['verifyWebhook of webhook', `require('voucherctl/webhook').verifyWebhook({})`],
]

test.each(uncaught)('an uncaught error of %s shows a short line of source and names', async (_what, program) => {
  const { all = '', exitCode } = await run('uncaught.cjs', program)
  expect({ all, exitCode }).toEqual({ all: expect.stringMatching(/^\s+\^+\n/m), exitCode: 1 })
  const source = /\n\n?(.*)\n\s+\^+\n/.exec(all)?.[1] ?? ''
  expect(source.trim()).toMatch(/^.{10,250}$/)
  expect(all).toMatch(/^ {4}at (?:async )?(?:\w+\.)?[a-zA-Z]{6,} \(/m)
})

const failing = `
const { startServer } = require('voucherctl/testing')
let server
beforeAll(async () => { server = await startServer() })
test('receive', async () => {
  await server.receive('voucher_redeemed', { within: 1 }) // line 6
})
test('client', async () => {
  await server.close()
  await server.client.vouchers.verify({ credential: { type: 'redeem_code', value: 'X' } }) // line 10
})
`

test('stacks of a failed receive() and of a failed client call begin in the test that called', async () => {
  const { all, exitCode } = await run(
    'failing.test.cjs',
    failing,
    jest,
    patient,
    '--rootDir',
    project,
    '--testPathPatterns',
    'failing',
  )
  const firstFrames = [...(all ?? '').matchAll(/\n\n {6}at .*?\(failing\.test\.cjs:(\d+):/g)].map(([, line]) => line)
  expect({ all, firstFrames, exitCode }).toMatchObject({ firstFrames: ['6', '10'], exitCode: 1 })
})
