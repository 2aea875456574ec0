import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { copyProject } from '../support/planting.js'

let project: string
let built: Map<string, string>
const inDist = (path: string) => join(project, 'dist', path)
const build = (...flags: string[]) =>
  execFileSync(process.execPath, [join(project, 'src/build/build.js'), '--if-changed', ...flags])

/** True if a build begins: it is the only step that loads a package, and finds none here. */
function begins(...flags: string[]): boolean {
  const modules = join(project, 'node_modules')
  renameSync(modules, `${modules}-away`)
  try {
    const args = [join(project, 'src/build/build.js'), '--if-changed', ...flags]
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    if (status !== 0) expect(stderr).toContain("Cannot find package 'rolldown'")
    return status !== 0
  } finally {
    renameSync(`${modules}-away`, modules)
  }
}

/** Contents of all files of dist/, by path. */
function dist(): Map<string, string> {
  const files = readdirSync(inDist('.'), { recursive: true, withFileTypes: true }).filter((it) => it.isFile())
  const paths = files.map((it) => join(it.parentPath, it.name)).sort()
  return new Map(paths.map((path) => [relative(inDist('.'), path), readFileSync(path, 'latin1')]))
}

beforeAll(() => {
  project = copyProject(['src', 'test', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.types.json'])
  build()
  built = dist()
  cpSync(inDist('.'), join(project, 'built'), { recursive: true })
})
beforeEach(() => {
  rmSync(inDist('.'), { recursive: true, force: true })
  cpSync(join(project, 'built'), inDist('.'), { recursive: true })
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

  test('a build with --if-changed writes only the evidence after a change of a test', () => {
    const before = statSync(inDist('cli/main.cjs')).mtimeMs
    const added = join(project, 'test/added.test.ts')
    writeFileSync(added, "test('added', { tags: 'times/1' }, () => {})\n")
    build()
    expect(readFileSync(inDist('evidence.json'), 'utf8')).toContain('"file":"test/added.test.ts"')
    expect(statSync(inDist('cli/main.cjs')).mtimeMs).toBe(before)
    rmSync(added)
  })

  const damages: readonly (readonly [what: string, damage: () => void])[] = [
    ['a changed byte', () => changeLastByte(inDist('webhook/index.js'))],
    ['a truncated file', () => truncateSync(inDist('chunks/build/jq.wasm'), 1_000)],
    ['a missing file', () => rmSync(inDist('cli/main.cjs'))],
    ['an added file', () => writeFileSync(inDist('chunks/added.cjs'), '')],
    ['changed types', () => appendFileSync(inDist('types/client/index.d.ts'), ' ')],
    ['added types', () => cpSync(inDist('types/webhook'), inDist('types/added'), { recursive: true })],
    ['a damaged record', () => truncateSync(inDist('build.json'), 10)],
  ]

  test.each(damages)('a build with --if-changed --bundle begins if dist/ has %s', (_what, damage) => {
    damage()
    expect(begins('--bundle')).toBe(true)
  })

  test('builds with --if-changed repair a bundle with every damage, then make the types', () => {
    for (const [, damage] of damages) damage()
    build('--bundle')
    // This build wrote no types, so it left none that may be damaged.
    const bundle = [...built].filter(([path]) => !path.startsWith('types/') && path !== 'build.json')
    expect([...dist()].filter(([path]) => path !== 'build.json')).toEqual(bundle)
    expect(begins('--bundle')).toBe(false)
    build()
    expect(dist()).toEqual(built)
  })

  test('a build with --if-changed begins after a change of a source that keeps its time', () => {
    const source = join(project, 'src/webhook/signature.ts')
    const before = readFileSync(source)
    const { atime, mtime } = statSync(source)
    appendFileSync(source, 'export const added = 1\n')
    utimesSync(source, atime, mtime)
    expect([begins(), begins('--bundle')]).toEqual([true, true])
    writeFileSync(source, before)
  })
})
