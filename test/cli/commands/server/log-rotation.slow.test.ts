import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { built } from '../../../support/cli/built-cli.js'
import { temporaryFolder } from '../../../support/server/server.js'

const MIB = 1024 * 1024

let home: string
beforeEach(() => {
  home = temporaryFolder()
})
afterEach(async () => {
  await built.run(['server', 'stop', '--data', 'data'], home)
  rmSync(home, { recursive: true, force: true })
})

const log = (kept = '') => join(home, 'data', `server.log${kept}`)

async function start(): Promise<{ base_url: string; log_file: string }> {
  const { exit, stdout } = await built.run(
    ['server', 'start', '--data', 'data', '--port', '0', '--detach', '--json'],
    home,
  )
  expect(exit).toBe(0)
  return JSON.parse(stdout)
}

/** Makes enough requests that the server checks the size of its log file. */
async function call(baseUrl: string, count = 400): Promise<void> {
  for (let n = 0; n < count; n++) await (await fetch(`${baseUrl}/none/${n}`)).arrayBuffer()
}

const idsIn = (text: string) => [...text.matchAll(/"request_id":"(\w+)"/g)].map(([, id]) => id)

it('log of a detached server is rotated at 10 MiB without losing a line, and three are kept', async () => {
  const { base_url, log_file } = await start()
  expect(log_file).toBe(log())
  for (const n of [1, 2, 3]) writeFileSync(log(`.${n}`), `log ${n}`)
  appendFileSync(log(), `${'x'.repeat(10 * MIB)}\n`)
  await call(base_url)
  await built.run(['server', 'stop', '--data', 'data'], home)
  const [newest, kept] = [readFileSync(log(), 'utf8'), readFileSync(log('.1'), 'utf8')]
  expect(kept.length).toBeGreaterThan(10 * MIB)
  expect(newest.length).toBeLessThan(MIB)
  expect(newest).toContain('"msg":"stopped"')
  const ids = [...idsIn(kept), ...idsIn(newest)]
  expect([ids.length >= 400, new Set(ids).size]).toEqual([true, ids.length])
  for (const text of [kept, newest]) {
    const lines = text.split('\n').filter((it) => it !== '' && !it.startsWith('x'))
    expect(lines.map((it) => typeof JSON.parse(it))).toEqual(lines.map(() => 'object'))
  }
  expect([readFileSync(log('.2'), 'utf8'), readFileSync(log('.3'), 'utf8')]).toEqual(['log 1', 'log 2'])
  expect(readdirSync(join(home, 'data')).filter((it) => it.startsWith('server.log'))).toHaveLength(4)
  if (process.platform !== 'win32') expect(statSync(log('.1')).mode & 0o777).toBe(0o600)
})

it('server start --detach keeps the log of the previous run', async () => {
  await start()
  await built.run(['server', 'stop', '--data', 'data'], home)
  const before = readFileSync(log(), 'utf8')
  await start()
  expect(readFileSync(log('.1'), 'utf8')).toBe(before)
  expect(existsSync(log('.2'))).toBe(false)
})
