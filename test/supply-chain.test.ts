import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BundledFile, bundle } from '../src/build-bundle.js'
import { filesWithoutServer } from './support/files-without-server.js'

interface Locked {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly hasInstallScript?: boolean
  readonly license?: string
}
type Versions = Readonly<Record<string, string>>
interface Manifest {
  readonly dependencies?: Versions
  readonly scripts: Versions
  readonly optionalDependencies: Versions
  readonly devDependencies: Versions
  readonly allowScripts: Readonly<Record<string, boolean>>
}

const read = <T>(path: string): T => JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')) as T
const manifest = read<Manifest>('package.json')
const { packages } = read<{ packages: Readonly<Record<string, Locked>> }>('package-lock.json')
const locked = Object.entries(packages).filter(([path]) => path !== '')
const { optionalDependencies, devDependencies, allowScripts } = manifest
const everything = { ...optionalDependencies, ...devDependencies }

/** What somebody who installs the tool gets beside it: each with the reason why it is not in the bundle. */
const runtime: Versions = {
  '@photostructure/sqlite': 'native, and optional: SQLite for Node 20, which has none built in',
}

describe('the lock file', () => {
  test('has the SHA-512 of every package, none of them a link, a folder or an address of its own', () => {
    expect(locked.length).toBeGreaterThan(100)
    const open = locked.filter(
      ([, it]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(it.integrity ?? '') || it.link || it.resolved !== undefined,
    )
    expect(open.map(([path]) => path)).toEqual([])
  })

  test('holds what package.json names, in exactly these versions', () => {
    for (const [name, version] of Object.entries(everything)) {
      expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(-[\w.-]+)?$/)])
      expect([name, packages[`node_modules/${name}`]?.version]).toEqual([name, version])
    }
  })

  test('runs scripts at installation for packages only that package.json allows by name', () => {
    const scripted = locked
      .filter(([, it]) => it.hasInstallScript)
      .map(([path]) => path.replace(/^.*node_modules\//, ''))
    expect(scripted.filter((name) => !(name in allowScripts))).toEqual([])
  })
})

test('an installation of the package runs no script of its own', () => {
  const scripts = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare']
  expect(scripts.filter((name) => name in manifest.scripts)).toEqual([])
})

test('who installs the tool gets few packages with it, each for a reason', () => {
  expect(manifest.dependencies).toBeUndefined()
  expect(Object.keys(optionalDependencies).sort()).toEqual(Object.keys(runtime).sort())
})

describe('the bundle', () => {
  const folder = mkdtempSync(join(tmpdir(), 'voucherctl-bundle-'))
  let programs: Awaited<ReturnType<typeof bundle>> = []
  beforeAll(async () => {
    programs = await bundle(folder)
  }, 60_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('the bundle has each module in only one file of a program', () => {
    for (const program of programs) {
      const modules = Object.values(program).flatMap((file) => file.modules)
      expect(modules.length).toBeGreaterThan(0)
      expect(modules.filter((path, i) => modules.indexOf(path) !== i)).toEqual([])
    }
  })

  test('the scripts of the command line, without the server, are smaller than 1.5 MB', () => {
    const files = filesWithoutServer(programs.find((it) => 'cli/main.cjs' in it) ?? {})
    const bytes = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
    expect(bytes).toBeGreaterThan(500_000)
    expect(bytes).toBeLessThan(1_500_000)
  })

  test('holds packages whose licences allow it, all of them in the lock file', () => {
    const inputs = programs.flatMap(Object.values<BundledFile>).flatMap(({ modules }) => modules)
    const found = inputs.map((path) => /^.*(node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(path)?.[1])
    const bundled = [...new Set(found)].filter((path) => path !== undefined)
    expect(bundled.length).toBeGreaterThan(10)
    const free = /^(MIT|ISC|0BSD|BSD-[23]-Clause|Apache-2\.0)$/
    const licences = bundled.map((path) => [path, packages[path]?.license ?? '?'] as const)
    expect(licences.filter(([, licence]) => !free.test(licence))).toEqual([])
  })

  test('the bundle has the same bytes as the one that the set-up of the tests built in dist/', () => {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((it) => it.isFile())
      .map((it) => relative(folder, join(it.parentPath, it.name)))
    expect(files.length).toBeGreaterThan(5)
    const dist = new URL('../dist/', import.meta.url)
    const differing = files.filter(
      (file) => !readFileSync(join(folder, file)).equals(readFileSync(new URL(file, dist))),
    )
    expect(differing).toEqual([])
  })
})
