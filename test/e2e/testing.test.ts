import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { environment, folder, node } from './installed.js'

const src = join(folder, 'node_modules', 'voucherctl', 'src')
const examples = join(src, 'testing', 'example')
const vitest = dirname(createRequire(import.meta.url).resolve('vitest/package.json'))
const jest = join(folder, 'node_modules', 'jest', 'bin', 'jest.js')
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
  ['Vitest', [join(vitest, 'vitest.mjs'), 'run', 'vitest.test.mjs'], /Tests.* 1 passed/],
  ['Jest', [jest, '--rootDir', project, 'jest.test.cjs'], /^Tests: +1 passed, 1 total$/m],
])('the example passes on %s and prints no warning', async (_runner, args, passed) => {
  const { all, exitCode } = await run(...args)
  expect({ all, exitCode }).toEqual({ all: expect.stringMatching(passed), exitCode: 0 })
  expect(all).not.toMatch(/warning/i)
})

test('import and require of voucherctl/testing return one implementation', async () => {
  const program = `
    import { createRequire } from 'node:module'
    import { startServer } from 'voucherctl/testing'
    const required = createRequire(import.meta.url)('voucherctl/testing')
    const servers = await Promise.all([startServer(), required.startServer()])
    await Promise.all(servers.map((it) => it.close()))
    console.log(required.startServer === startServer, Object.keys(required).join())`
  expect(await run('--input-type=module', '-e', program)).toMatchObject({ all: 'true startServer', exitCode: 0 })
})

test('faults of command, library and seed affect the chosen calls of the packed server', async () => {
  const program = `
    import { execFile } from 'node:child_process'
    import { promisify } from 'node:util'
    import { startServer } from 'voucherctl/testing'
    const faults = [{ endpoint: 'templates.list', kind: 'cut_body', nth: 1 }]
    const { seed, close } = await startServer()
    await close()
    const server = await startServer({ seed: { ...seed, faults } })
    const env = { ...process.env, VOUCHERCTL_BASE_URL: server.baseUrl, VOUCHERCTL_OPERATOR_KEY: server.operatorKey }
    const add = (...args) => promisify(execFile)(process.execPath, ['../node_modules/voucherctl/bin/voucherctl.js',
      'platform', 'faults', 'add', '--endpoint', 'templates.list', ...args], { env })
    const codes = []
    const call = async () => codes.push((await server.client.templates.list()).code ?? 'ok')
    await call()
    await add('--kind', 'status', '--status', '429', '--retry-after', '2', '--nth', '2')
    await call()
    await call()
    server.faults.add({ endpoint: 'templates.list', kind: 'refuse_connection' })
    await call()
    try { server.faults.add({ endpoint: 'templates.list', kind: 'status' }) } catch (error) { codes.push(error.message) }
    console.log(codes.join())
    await server.close()`
  expect(await run('--input-type=module', '-e', program)).toMatchObject({
    all: 'NETWORK_ERROR,ok,RATE_LIMITED,NETWORK_ERROR,fault.status is required for the kind status',
    exitCode: 0,
  })
})
