import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { copyProject } from '../support/planting.js'

let project: string
let built: Map<string, string>
const inDist = (path: string) => join(project, 'dist', path)
const build = (...flags: string[]) =>
  execFileSync(process.execPath, [join(project, 'src/build/build.js'), '--if-changed', ...flags])

/** Contents of all files of dist/, by path. */
function dist(): Map<string, string> {
  const files = readdirSync(inDist('.'), { recursive: true, withFileTypes: true }).filter((it) => it.isFile())
  const paths = files.map((it) => join(it.parentPath, it.name)).sort()
  return new Map(paths.map((path) => [relative(inDist('.'), path), readFileSync(path, 'latin1')]))
}

beforeAll(() => {
  project = copyProject(['src', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.types.json'])
  build()
  built = dist()
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

/** Keeps the size and the times of a file. */
function changeLastByte(path: string): void {
  const { atime, mtime } = statSync(path)
  const bytes = readFileSync(path)
  bytes[bytes.length - 1] = bytes.at(-1) === 32 ? 33 : 32
  writeFileSync(path, bytes)
  utimesSync(path, atime, mtime)
}

describe('build with --if-changed', () => {
  test('a build with --if-changed writes nothing if nothing has changed', () => {
    const before = statSync(inDist('cli/main.cjs')).mtimeMs
    build()
    build('--bundle')
    expect(statSync(inDist('cli/main.cjs')).mtimeMs).toBe(before)
  })

  test.each<[string, () => void]>([
    ['a changed byte', () => changeLastByte(inDist('webhook/index.js'))],
    ['a truncated file', () => truncateSync(inDist('chunks/build/jq.wasm'), 1_000)],
    ['a missing file', () => rmSync(inDist('cli/main.cjs'))],
    ['an added file', () => writeFileSync(inDist('chunks/added.cjs'), '')],
    ['a damaged record', () => truncateSync(inDist('build.json'), 10)],
  ])('a build with --if-changed --bundle repairs a bundle with %s', (_what, damage) => {
    damage()
    build('--bundle')
    // This build wrote no types, so it left none that may be damaged.
    const bundle = [...built].filter(([path]) => !path.startsWith('types/') && path !== 'build.json')
    expect([...dist()].filter(([path]) => path !== 'build.json')).toEqual(bundle)
  })

  test('a build with --if-changed makes missing types and repairs damaged ones', () => {
    build()
    expect(dist()).toEqual(built)
    appendFileSync(inDist('types/client/index.d.ts'), ' ')
    mkdirSync(inDist('types/added'))
    writeFileSync(inDist('types/added/index.d.ts'), '')
    build()
    expect(dist()).toEqual(built)
  })

  test('a build with --if-changed builds after a change of a source that keeps its time', () => {
    const source = join(project, 'src/webhook/signature.ts')
    const { atime, mtime } = statSync(source)
    appendFileSync(source, 'export const added = 1\n')
    utimesSync(source, atime, mtime)
    const before = statSync(inDist('webhook/index.js')).mtimeMs
    build('--bundle')
    expect(statSync(inDist('webhook/index.js')).mtimeMs).toBeGreaterThan(before)
  })
})
