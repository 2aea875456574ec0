import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folder, node } from './installed.js'

/** Checkers of packages; only these tests need them, so npm ci does not install them. */
const checkers = ['@arethetypeswrong/cli@0.18.5', 'publint@0.3.25']

const work = mkdtempSync(join(tmpdir(), 'voucherctl-packaging-'))
afterAll(() => rmSync(work, { recursive: true, force: true }))
let tarball: string

beforeAll(async () => {
  const npm = execa({ cwd: work, stdin: 'ignore' })
  const packed = join(folder, 'node_modules', 'voucherctl')
  const { stdout } = await npm('npm', ['pack', packed, '--ignore-scripts', '--json'])
  tarball = join(work, JSON.parse(stdout)[0].filename)
  await npm('npm', ['install', '--prefix', work, '--no-audit', '--no-fund', ...checkers])
})

const check = (script: string, ...args: string[]) =>
  execa(node, [join(work, 'node_modules', script), ...args, tarball], { reject: false, all: true })

test('types of all libraries describe what import and require load, says attw', async () => {
  const { all, exitCode } = await check(
    '@arethetypeswrong/cli/dist/index.js',
    '--profile',
    'node16',
    '--format',
    'json',
  )
  const { analysis, problems } = JSON.parse(all ?? '')
  const libraries = ['client', 'secure', 'testing', 'webhook'].map((it) => `./${it}`)
  expect(Object.keys(analysis.entrypoints)).toEqual(expect.arrayContaining(libraries))
  // node10 is TypeScript's resolution for Node 10, which knows no exports.
  const found = Object.values<{ resolutionKind?: string }[]>(problems).flat()
  expect(found.filter((it) => it.resolutionKind !== 'node10')).toEqual([])
  expect(exitCode).toBe(0)
})

test('publint has nothing to say about the package', async () => {
  const { all, exitCode } = await check('publint/src/cli.js', 'run', '--strict')
  expect({ all, exitCode }).toEqual({ all: expect.stringContaining('All good!'), exitCode: 0 })
})
