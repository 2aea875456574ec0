import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closedPort } from '../support/closed-port.js'
import { copyProject } from '../support/planting.js'

const modules = new URL('../../node_modules/', import.meta.url).pathname
let project: string
let registry: string

beforeAll(async () => {
  const configs = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.types.json']
  // With dist/, so that a benchmark builds the package only if the last build here made no types.
  project = copyProject(['src', 'test', 'bin', 'completions', 'dist', ...configs])
  // The copy has no cache of the benchmark, which may contain Prism.
  rmSync(join(project, 'node_modules'))
  mkdirSync(join(project, 'node_modules'))
  for (const name of readdirSync(modules)) {
    if (name !== '.cache') symlinkSync(join(modules, name), join(project, 'node_modules', name))
  }
  registry = `http://127.0.0.1:${await closedPort()}`
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

/** Runs the benchmark without a registry from which npm could install Prism. */
function bench(only: string) {
  const env = {
    ...process.env,
    npm_config_registry: registry,
    npm_config_cache: join(project, 'npm-cache'),
    npm_config_fetch_retries: '0',
  }
  const args = [join(project, 'test/bench/run.js'), '--quick', '--rounds', '1', '--only', only]
  const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  const { rows } = JSON.parse(readFileSync(join(project, 'bench.json'), 'utf8')) as { rows: { id: string }[] }
  return { status, stdout, ids: rows.map(({ id }) => id) }
}

test('benchmark prints the other rows if npm cannot install a reference program', () => {
  const { status, stdout, ids } = bench('P13,P15,P18')
  expect(stdout).toMatch(/^P18 not measured: npm cannot install @stoplight\/prism-cli@[\d.]+ \(npm error .+\)$/m)
  expect(stdout).toMatch(/^P15 not measured: npm cannot install emulate@[\d.]+ \(npm error .+\)$/m)
  expect(stdout).toMatch(/^P13 +the package without SQLite for Node 20 .* (held|MISSED)$/m)
  expect([status, ids]).toEqual([0, ['P18', 'P13', 'P13', 'P15']])
})

test('the benchmark prints the other rows and exits 1 if a measurement fails', () => {
  rmSync(join(project, 'test/bench/programs/receiver.js'))
  const { status, stdout, ids } = bench('P14,P18')
  expect(stdout).toMatch(/^P14 not measured: .*receiver/m)
  expect(stdout).toMatch(/^P18 not measured: npm cannot install /m)
  expect([status, ids]).toEqual([1, ['P18', 'P14']])
})
