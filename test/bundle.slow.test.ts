import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { RolldownOutput } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BundledPackage, bundle } from '../src/build/bundle.js'
import { filesWithoutServer } from './support/build/files-without-server.js'

const lock = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')
const { packages } = JSON.parse(lock) as {
  packages: Readonly<Record<string, { readonly license?: string; readonly version?: string }>>
}

const modulesOf = ({ output }: RolldownOutput) => output.flatMap((it) => (it.type === 'chunk' ? it.moduleIds : []))

describe('the bundle', () => {
  const folder = mkdtempSync(join(tmpdir(), 'voucherctl-bundle-'))
  let programs: RolldownOutput[] = []
  let listed: readonly BundledPackage[] = []
  beforeAll(async () => {
    const { programs: reports, packages: bundled } = await bundle(folder)
    programs = reports
    listed = bundled
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('no two files of the bundled program contain the same module', () => {
    for (const program of programs) {
      const modules = modulesOf(program)
      expect(modules.length).toBeGreaterThan(0)
      expect(modules.filter((path, i) => modules.indexOf(path) !== i)).toEqual([])
    }
  })

  // The groups of bundle.js could cause one, and then the file that is loaded second lacks exports of the first.
  test('files of the bundled program load each other without a circle', () => {
    const chunks = programs[0]?.output.filter((it) => it.type === 'chunk') ?? []
    let open = new Map(chunks.map(({ fileName, imports }) => [fileName, imports]))
    expect(open.size).toBeGreaterThan(100)
    for (let before = Number.POSITIVE_INFINITY; open.size < before; ) {
      before = open.size
      open = new Map([...open].filter(([, imports]) => imports.some((it) => open.has(it))))
    }
    expect([...open.keys()]).toEqual([])
  })

  // A new version of Rolldown may name its wrappers otherwise, which bundle.js would not notice.
  test('bundled CommonJS modules are in functions that Node 20 parses once', () => {
    const main = programs[0]?.output.find((it) => it.fileName === 'cli/main.cjs')
    expect(main).toMatchObject({ code: expect.stringMatching(/require\("[^"]*rolldown-runtime\.cjs"\)/) })
    expect(main).toMatchObject({ code: expect.stringMatching(/\w\.\w+\(\(function\(/) })
  })

  test('chunks that a library loads keep lines and names, except router and logger', () => {
    const chunks = programs.flatMap(({ output }) => output).filter((it) => it.type === 'chunk')
    const libraries = new Set(['client', 'secure', 'testing', 'webhook'].map((it) => `${it}/index.cjs`))
    const loaded = chunks.filter((it) => libraries.has(it.fileName))
    for (const { imports, dynamicImports } of loaded) {
      const names = new Set([...imports, ...dynamicImports])
      loaded.push(...chunks.filter((it) => names.has(it.fileName) && !loaded.includes(it)))
    }
    expect(loaded.map((it) => it.fileName)).toEqual(expect.arrayContaining([...libraries, 'chunks/listen.cjs']))
    expect(loaded.map((it) => it.fileName)).not.toContain('cli/main.cjs')
    // Rolldown writes the path of each module above its code, and minifying removes it.
    const minified = loaded.filter(({ code }) => !/^\/\/ .*\.[jt]s$/m.test(code)).map(({ name }) => name)
    expect(minified.sort()).toEqual(['logger', 'router'])
  })

  test('server in a bundle without package.json responds, and its metrics lack the version', async () => {
    const program = `const { startServer } = require('./testing/index.cjs')
      void (async () => {
        const server = await startServer()
        console.log((await fetch(server.baseUrl + '/healthz')).status)
        const metrics = await (await fetch(server.baseUrl + '/metrics')).text()
        console.log(/build_info.version="(\\w+)"/.exec(metrics)?.[1])
        await server.close()
      })()`
    const env = { ...process.env, NODE_PATH: fileURLToPath(new URL('../node_modules', import.meta.url)) }
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { cwd: folder, env })
    expect(stdout).toBe('200\nunknown\n')
  })

  test('bundled CLI scripts, without server and probes, are smaller than 2.5 MB', () => {
    const files = filesWithoutServer(programs[0] as RolldownOutput)
    const bytes = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
    expect(bytes).toBeGreaterThan(500_000)
    expect(bytes).toBeLessThan(2_500_000)
  })

  test('the protocol library of `mcp serve` is in a separate file, which nothing else loads', () => {
    const chunks = programs[0]?.output.filter((it) => it.type === 'chunk') ?? []
    const file = 'chunks/mcp-library.cjs'
    const parts = chunks.filter((it) => it.moduleIds.some((id) => id.includes('@modelcontextprotocol')))
    expect(parts.map((it) => it.fileName)).toEqual([file])
    expect(statSync(join(folder, file)).size).toBeLessThan(450_000)
    const loading = (name: string) => chunks.filter((it) => [...it.imports, ...it.dynamicImports].includes(name))
    expect(loading(file).map((it) => it.name)).toEqual(['protocol'])
    expect(loading('chunks/protocol.cjs').map((it) => it.name)).toEqual(['serve'])
  })

  test('bundled packages have permissive licences and are in the lock file', () => {
    const found = programs
      .flatMap(modulesOf)
      .map((path) => /(?:\/?node_modules\/(?:@[^/]+\/)?[^/]+)+/.exec(path)?.[0].slice(1))
    const bundled = [...new Set(found)].filter((path) => path !== undefined)
    expect(bundled.length).toBeGreaterThan(10)
    const free = /^(MIT|ISC|0BSD|BSD-[23]-Clause|Apache-2\.0|\(MIT OR Apache-2\.0\)|\(MIT AND Zlib\))$/
    const licences = bundled.map((path) => [path, packages[path]?.license ?? '?'] as const)
    expect(licences.filter(([, licence]) => !free.test(licence))).toEqual([])
  })

  test('list of bundled packages covers all bundled modules, and jq', () => {
    const owner = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/
    const folders = new Set(programs.flatMap(modulesOf).map((path) => owner.exec(path)?.[0]))
    const found = [...folders].flatMap((path) => {
      if (path === undefined) return []
      const { name, version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
      return [`${name} ${version}`]
    })
    const named = listed.map(({ name, version }) => `${name} ${version}`)
    expect(named).toEqual([...new Set([...found, 'jq 1.8.2', 'Oniguruma 6.9.10'])].sort())
  })

  test('licences of the bundle include jq and Oniguruma, which jq.wasm contains', () => {
    const licences = readFileSync(join(folder, 'THIRD-PARTY-LICENSES'), 'utf8').split(`\n${'-'.repeat(80)}\n\n`)
    const licenceOf = (name: string) => licences.find((it) => it.startsWith(name))
    const version = packages['node_modules/jq-wasm']?.version?.replace(/^.*-jq-/, '')
    expect(licenceOf(`jq ${version} (MIT)\n\njq is copyright (C) 2012`)).toBeDefined()
    const jq = licences.join('')
    for (const part of ['David M. Gay', 'decNumber', 'Kungliga Tekniska', 'The NetBSD Foundation'])
      expect(jq).toContain(part)
    expect(licenceOf('Oniguruma 6.9.10 (BSD-2-Clause)')).toContain('K.Kosako')
  })

  test('rebuilding the bundle produces the same bytes as dist/', () => {
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
