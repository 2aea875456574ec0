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

/** Packages that are installed with the tool instead of bundled, each with the reason. */
const runtime: Versions = {
  '@photostructure/sqlite': 'native, and optional: SQLite for Node 20, which has none built in',
}

describe('lock file', () => {
  test('lock file has the SHA-512 of every package and neither links nor download URLs', () => {
    expect(locked.length).toBeGreaterThan(100)
    const open = locked.filter(
      ([, it]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(it.integrity ?? '') || it.link || it.resolved !== undefined,
    )
    expect(open.map(([path]) => path)).toEqual([])
  })

  test('lock file has exactly the versions that package.json names', () => {
    for (const [name, version] of Object.entries(everything)) {
      expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(-[\w.-]+)?$/)])
      expect([name, packages[`node_modules/${name}`]?.version]).toEqual([name, version])
    }
  })

  test('only packages allowed in package.json run scripts at installation', () => {
    const scripted = locked
      .filter(([, it]) => it.hasInstallScript)
      .map(([path]) => path.replace(/^.*node_modules\//, ''))
    expect(scripted.filter((name) => !(name in allowScripts))).toEqual([])
  })
})

test('installation of the voucherctl package runs none of its scripts', () => {
  const scripts = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare', 'postprepare']
  expect(scripts.filter((name) => name in manifest.scripts)).toEqual([])
})

test('installation of voucherctl adds only the listed optional packages', () => {
  expect(manifest.dependencies).toBeUndefined()
  expect(Object.keys(optionalDependencies).sort()).toEqual(Object.keys(runtime).sort())
})
