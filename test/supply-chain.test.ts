import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

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
