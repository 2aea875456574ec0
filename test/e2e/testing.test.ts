import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { environment, folder, jest, node, patient } from './installed.js'

const src = join(folder, 'node_modules', 'voucherctl', 'src')
const examples = join(src, 'testing', 'example')
const vitest = dirname(createRequire(import.meta.url).resolve('vitest/package.json'))
// Tests in a subfolder of the installation can import voucherctl.
const project = join(folder, 'testing-example')

beforeAll(() => {
  cpSync(examples, project, { recursive: true })
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(vitest, join(project, 'node_modules', 'vitest'))
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

const run = (...args: string[]) =>
  execa(node, args, {
    cwd: project,
    env: { ...environment, NO_COLOR: '1' },
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    all: true,
  })

const servers = "const { startServer, assertMatches } = require('voucherctl/testing')"
const fakes = (runner: string, open: string) => `
  ${open}
  let n = 0
  const use = async (server) => {
    const id = 'order-' + ++n
    const order = { template_id: 'tpl_coffee', external_issue_id: id, recipient_user_id: 'user-1' }
    server.faults.add({ endpoint: 'vouchers.issue', kind: 'delay', delay_ms: 5 })
    const issued = await server.client.vouchers.issue(order, { idempotencyKey: id })
    if (!issued.ok) throw new Error(issued.code)
    await server.receive('voucher_issued')
    await server.requests.wait({ endpoint: 'vouchers.issue', idempotencyKey: id })
    assertMatches(server.requests, { input: { external_issue_id: id } }, 1)
    const at = await server.snapshot()
    await server.reset()
    await server.restore(at)
    await at.release()
  }
  for (const when of ['before', 'after']) test('fakes ' + when + ' the start', async () => {
    if (when === 'before') ${runner}.useFakeTimers()
    const server = await startServer()
    ${runner}.useFakeTimers()
    await use(server)
    ${runner}.useRealTimers()
    await use(server)
    ${runner}.useFakeTimers()
    await server.close()
    ${runner}.useRealTimers()
  })`

test.each([
  [
    'Vitest',
    'fakes.test.mjs',
    fakes('vi', "import { test, vi } from 'vitest'\nimport { assertMatches, startServer } from 'voucherctl/testing'"),
    (file: string) => [join(vitest, 'vitest.mjs'), 'run', patient, file],
    /Tests.* 2 passed/,
  ],
  [
    'Jest',
    'fakes.test.cjs',
    fakes('jest', servers),
    (file: string) => [jest, patient, '--rootDir', project, file],
    /^Tests: +2 passed, 2 total$/m,
  ],
])('fake timers of %s neither hang a call nor stop the server', async (_runner, file, program, argsOf, passed) => {
  writeFileSync(join(project, file), program)
  const { all, exitCode } = await run(...argsOf(file))
  expect({ all, exitCode }).toEqual({ all: expect.stringMatching(passed), exitCode: 0 })
})

const forgotten = `
  ${servers}
  test('a call', async () => {
    const server = await startServer()
    await (await fetch(server.baseUrl + '/healthz')).text()
    await server.receive('voucher_issued', { within: 1 }).catch(() => {})
  })`

test.each([
  ['node:test', `const { test } = require('node:test')${forgotten}`, ['--test', 'forgotten.test.cjs'], /pass 1$/m],
  ['Jest', forgotten, [jest, patient, '--rootDir', project, 'forgotten.test.cjs'], /^Tests: +1 passed/m],
])('a server that a test did not close does not keep %s alive', async (_runner, program, args, passed) => {
  writeFileSync(join(project, 'forgotten.test.cjs'), program)
  const { all, exitCode } = await run(...args)
  expect({ all, exitCode }).toEqual({ all: expect.stringMatching(passed), exitCode: 0 })
  expect(all).not.toMatch(/did not exit/)
})

test('the last of 2,000 snapshots adds at most 100 MB in all', async () => {
  const program = `
    const { startServer } = require('voucherctl/testing')
    const main = async () => {
      const server = await startServer()
      const first = await server.snapshot()
      const before = process.memoryUsage().rss
      const kept = []
      for (let n = 0; n < 2000; n++) kept.push(await server.snapshot())
      const grown = (process.memoryUsage().rss - before) / 2 ** 20
      await server.restore(first)
      await server.close()
      console.log(grown <= 100, kept.length)
    }
    main()`
  expect(await run('-e', program)).toMatchObject({ all: 'true 2000', exitCode: 0 })
})

const bodyOf = (file: string) => /^test\(.*/ms.exec(readFileSync(join(examples, file), 'utf8'))?.[0]

test('the example is the test of the guide, equal on all runners and at most 30 lines long', () => {
  const block = /^```mjs\n\/\/ shop\.test\.mjs\n(.*?)^```/ms.exec(
    readFileSync(join(src, 'guides', 'testing.md'), 'utf8'),
  )?.[1]
  const [, ...lines] = readFileSync(join(examples, 'node.test.mjs'), 'utf8').split('\n')
  expect(block).toBe(lines.join('\n'))
  expect(lines.length).toBeLessThanOrEqual(30)
  const bodies = ['node.test.mjs', 'vitest.test.mjs', 'jest.test.cjs'].map((it) => bodyOf(it))
  expect(new Set(bodies).size).toBe(1)
})

test.each([
  ['node:test', ['--test', 'node.test.mjs'], /^(?:# pass|ℹ pass) 1$/m],
  ['Vitest', [join(vitest, 'vitest.mjs'), 'run', patient, 'vitest.test.mjs'], /Tests.* 1 passed/],
  ['Jest', [jest, patient, '--rootDir', project, 'jest.test.cjs'], /^Tests: +1 passed, 1 total$/m],
])('the example passes on %s and prints no warning', async (_runner, args, passed) => {
  const { all, exitCode } = await run(...args)
  expect({ all, exitCode }).toEqual({ all: expect.stringMatching(passed), exitCode: 0 })
  expect(all).not.toMatch(/warning/i)
})
