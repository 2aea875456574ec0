import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '../support/postgres/server.js'
import { environment, folder, jest, node, packageFolder, patient } from './installed.js'

const suites = join(import.meta.dirname, 'suites')
const files = readdirSync(suites).filter((it) => it.includes('.test.'))
const project = join(folder, 'suites')

let postgres: PostgresServer
const run = (...args: string[]) =>
  execa(node, args, {
    cwd: project,
    env: { ...environment, NO_COLOR: '1', DATABASE_URL: postgres.url },
    extendEnv: false,
    stdin: 'ignore',
    reject: false,
    all: true,
  })

beforeAll(async () => {
  postgres = await startPostgres()
  cpSync(suites, project, { recursive: true })
  mkdirSync(join(project, 'node_modules', '@types'), { recursive: true })
  for (const name of ['vitest', '@types/node']) symlinkSync(packageFolder(name), join(project, 'node_modules', name))
  const { all, exitCode } = await execa(
    process.execPath,
    [join(packageFolder('typescript'), 'bin', 'tsc'), '-p', project],
    { reject: false, all: true },
  )
  expect({ all, exitCode }).toEqual({ all: '', exitCode: 0 })
})
afterAll(async () => {
  await postgres.remove()
  rmSync(project, { recursive: true, force: true })
})

test.each([
  [
    'Vitest',
    [join(packageFolder('vitest'), 'vitest.mjs'), 'run', patient, '--hookTimeout=60000', 'vitest.test.mts'],
    /Tests +7 passed \(7\)$/m,
  ],
  [
    'Jest',
    // Without the flag, Node also requires ES modules, which Jest cannot.
    [
      '--no-experimental-require-module',
      jest,
      patient,
      '--rootDir',
      project,
      '--testPathIgnorePatterns',
      'out',
      '--',
      'jest.test.cjs',
    ],
    /^Tests: +4 passed, 4 total$/m,
  ],
  ['node:test', ['--test', 'node.test.mjs'], /^(?:#|ℹ) pass 5$/m],
  ['strict TypeScript', ['--test', 'out/strict.test.cjs'], /^(?:#|ℹ) pass 1$/m],
])('the suite of a shop compiles and passes with %s', async (_runner, args, passed) => {
  const { all, exitCode } = await run(...args)
  expect({ all, exitCode }).toEqual({ all: expect.stringMatching(passed), exitCode: 0 })
  expect(all).not.toMatch(/did not exit/)
})

/** Assertions of TypeScript and JSDoc, `any`, and comments that silence the compiler. */
const cast = /^(?!import ).*\bas\b (?!an? )|[\w)\]]!(?!=)|\bany\b|@ts-(?:ignore|expect|nocheck)|@type \{.*\} \*\/ ?\(/m

test('no suite has a cast', () => {
  for (const file of files) expect([file, cast.exec(readFileSync(join(suites, file), 'utf8'))]).toEqual([file, null])
  for (const it of ['x as Y', 'x!.y', 'f(x)!', 'x: any', '// @ts-ignore', '/** @type {X} */ (x)'])
    expect(it).toMatch(cast)
})
