import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

interface Import {
  /** Path of the importing file in src/. */
  readonly from: string
  /** The imported module: a path in src/, or the name of a package or a built-in module. */
  readonly to: string
  readonly kind: 'static' | 'type' | 'dynamic'
}

/** By folder of src/: the other folders from which its files may import, and the allowed packages if limited. */
const layers: Readonly<Record<string, { readonly rooms: readonly string[]; readonly packages?: readonly string[] }>> = {
  contract: { rooms: ['values'], packages: [] },
  domain: { rooms: ['contract', 'values'], packages: ['node:'] },
  store: { rooms: ['domain', 'contract', 'files', 'values'], packages: ['node:', 'pg'] },
  server: { rooms: ['store', 'domain', 'contract', 'webhook', 'secure', 'inspector', 'recorder', 'files', 'values'] },
  client: { rooms: ['contract', 'secure', 'files', 'values'], packages: ['node:', 'undici'] },
  secure: { rooms: ['values'], packages: ['node:', '@noble/'] },
  webhook: { rooms: ['contract'], packages: ['node:'] },
  inspector: { rooms: ['contract', 'values'], packages: ['node:', 'preact', 'qr'] },
  workbench: { rooms: ['contract', 'webhook', 'inspector', 'files', 'values'], packages: ['node:'] },
  testing: { rooms: ['server', 'prove', 'client', 'webhook', 'domain', 'contract', 'files', 'values'] },
  recorder: { rooms: ['contract', 'files', 'values'], packages: ['yaml'] },
  conform: { rooms: ['client', 'contract', 'secure', 'webhook', 'values'], packages: ['node:'] },
  prove: {
    rooms: ['server', 'client', 'domain', 'contract', 'files', 'values'],
    packages: ['node:'],
  },
  files: { rooms: [], packages: ['node:', 'yaml'] },
  values: { rooms: [], packages: ['node:'] },
  cli: {
    rooms: ['client', 'contract', 'webhook', 'workbench', 'conform', 'prove', 'secure', 'recorder', 'files', 'values'],
  },
}

const isWithin = (path: string, place: string) =>
  path === place || path.startsWith(/[:/]$/.test(place) ? place : `${place}/`)

/** The file that decides where deliveries go; it imports only built-in modules, so that it can be audited. */
const guard = 'server/delivery/guard.ts'

/** Folders that run the bundled server. They import it dynamically, so that other commands do not load it. */
const serverCommands = ['commands/server', 'commands/quickstart', 'commands/mcp', 'mcp', 'scenario', 'server'].map(
  (it) => `cli/${it}/`,
)

/** Why an import is not allowed by `layers`; undefined if it is. */
function breach({ from, to, kind }: Import): string | undefined {
  const room = from.split('/', 1)[0] ?? ''
  const layer = layers[room]
  if (layer === undefined) return `${room}/ has no place among the layers`
  if (from === guard && !to.startsWith('node:')) {
    return 'one file decides where deliveries go, so that it can be audited'
  }
  if (from.startsWith('inspector/page/') && kind !== 'type' && /^(?:node:|inspector\/(?!page\/))/.test(to)) {
    return 'the page runs in a browser'
  }
  if (from.startsWith('inspector/') && !from.startsWith('inspector/page/') && /preact/.test(to)) {
    return 'only the page renders'
  }
  if (!to.endsWith('.ts')) {
    const isAllowed = layer.packages?.some((it) => isWithin(to, it)) ?? true
    return isAllowed ? undefined : `${room}/ must not import this package`
  }
  const target = to.split('/', 1)[0] ?? ''
  if (room === 'webhook' && target === 'contract' && kind !== 'type') return 'the library loads only modules of Node'
  if (target === room || layer.rooms.includes(target)) return undefined
  if (target === 'server' && serverCommands.some((it) => from.startsWith(it))) {
    return kind === 'static' ? 'the server is loaded with await import(), when the command runs' : undefined
  }
  return `${room}/ may import ${layer.rooms.join(', ') || 'nothing else'}, not ${target}/`
}

const statement = /(?<![\w.])(import|export)\s+(type\s)?[^'"()]*?from\s*['"]([^'"]+)['"]/g
const bareImport = /^import\s*['"]([^'"]+)['"]/gm
const dynamicImport = /(?<!typeof\s)\bimport\(\s*['"]([^'"]+)['"]/g
const typeOfImport = /typeof\s+import\(\s*['"]([^'"]+)['"]/g

function importsOf(from: string, source: string): Import[] {
  const text = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const found: [string, Import['kind']][] = [
    ...[...text.matchAll(statement)].map((it): [string, Import['kind']] => [it[3] ?? '', it[2] ? 'type' : 'static']),
    ...[...text.matchAll(bareImport)].map((it): [string, Import['kind']] => [it[1] ?? '', 'static']),
    ...[...text.matchAll(dynamicImport)].map((it): [string, Import['kind']] => [it[1] ?? '', 'dynamic']),
    ...[...text.matchAll(typeOfImport)].map((it): [string, Import['kind']] => [it[1] ?? '', 'type']),
  ]
  return found.map(([specifier, kind]) => ({
    from,
    to: specifier.startsWith('.') ? posix.join(posix.dirname(from), specifier).replace(/\.js$/, '.ts') : specifier,
    kind,
  }))
}

const breachesOf = (imports: readonly Import[]) =>
  imports.flatMap((it) => {
    const reason = breach(it)
    return reason === undefined ? [] : [`${it.from} -> ${it.to}: ${reason}`]
  })

/** The folders of src/ that contain a file, the innermost first. */
function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, i) => parts.slice(0, parts.length - i).join('/'))
}

/** The imports by which two folders import each other, of which neither contains the other. */
function mutualImports(imports: readonly Import[]): string[] {
  const found = new Map<string, string[]>()
  for (const { from, to } of imports) {
    if (!to.endsWith('.ts')) continue
    for (const folder of foldersOf(from)) {
      for (const other of foldersOf(to)) {
        if (isWithin(folder, other) || isWithin(other, folder)) continue
        const pair = `${folder} -> ${other}`
        found.set(pair, [...(found.get(pair) ?? []), `${from} -> ${to}`])
      }
    }
  }
  return [...found].flatMap(([pair, arrows]) => (found.has(pair.split(' -> ').reverse().join(' -> ')) ? arrows : []))
}

const src = fileURLToPath(new URL('../src', import.meta.url))
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('build/'))
const imports = files.flatMap((path) => importsOf(path, readFileSync(join(src, path), 'utf8')))

test('import rules list exactly the folders of src/, and only existing files and commands', () => {
  const rooms = readdirSync(src, { withFileTypes: true })
    .filter((it) => it.isDirectory())
    .map(({ name }) => name)
  expect(rooms.sort()).toEqual(['build', 'guides', ...Object.keys(layers)].sort())
  expect([guard, ...serverCommands].filter((it) => !files.some((path) => path.startsWith(it)))).toEqual([])
})

test('each folder imports every folder and package that the import rules allow it', () => {
  const unused = Object.entries(layers).flatMap(([room, { rooms, packages = [] }]) =>
    [...rooms, ...packages].filter(
      (place) => !imports.some(({ from, to }) => isWithin(from, room) && isWithin(to, place)),
    ),
  )
  expect(unused).toEqual([])
})

test('table of folders in src/README.md lists the imports that the import rules allow', () => {
  const table = readFileSync(join(src, 'README.md'), 'utf8').matchAll(/^\| \[?`(\w+)\/`.* \| ([^|]*) \|$/gm)
  const documented = [...table].map(([, room, rooms = '']) => [
    room,
    [...rooms.matchAll(/\w+(?=`)/g)].map(([it]) => it),
  ])
  const allowed = Object.entries(layers).map(([room, { rooms }]) => [room, rooms])
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries([...allowed, ['build', []], ['guides', []]]))
})

test('every import in src/ follows the import rules between folders', () => {
  expect(breachesOf(imports)).toEqual([])
})

test('no two folders of src/ import each other, unless one contains the other', () => {
  expect(mutualImports(imports)).toEqual([])
})

test('folders of src/cli/ that run what a command starts import no command', () => {
  const engines = ['bulk', 'conform', 'load', 'mcp', 'scenario', 'server'].map((it) => `cli/${it}`)
  expect(engines.filter((it) => !files.some((path) => isWithin(path, it)))).toEqual([])
  const own = imports.filter(({ from }) => engines.some((it) => isWithin(from, it)))
  expect(own.filter(({ to }) => isWithin(to, 'cli/commands'))).toEqual([])
})

test('search for folders that import each other counts the files of their sub-folders', () => {
  const arrow = (from: string, to: string): Import => ({ from, to, kind: 'type' })
  const inward = arrow('cli/output/table.ts', 'cli/commands/bots/bots.ts')
  const outward = arrow('cli/commands/apps/apps.ts', 'cli/output/show.ts')
  const nested = [arrow('secure/index.ts', 'secure/client/key.ts'), arrow('secure/client/key.ts', 'secure/suite.ts')]
  expect(mutualImports([inward, outward, ...nested])).toEqual([
    'cli/output/table.ts -> cli/commands/bots/bots.ts',
    'cli/commands/apps/apps.ts -> cli/output/show.ts',
  ])
})

test('webhook library imports no module from outside its folder except node:crypto', () => {
  const reached = new Set(['webhook/index.ts'])
  for (const file of reached) {
    for (const { from, to, kind } of imports) if (from === file && kind !== 'type') reached.add(to)
  }
  expect([...reached].filter((it) => !it.startsWith('webhook/'))).toEqual(['node:crypto'])
})

test('command that needs no encryption does not load @noble, which takes 26 ms', () => {
  const entries = [
    'cli/main.ts',
    'cli/execute.ts',
    'cli/command/create-context.ts',
    'cli/command/transport.ts',
    'cli/commands/vouchers/vouchers.ts',
  ]
  const reached = new Set([...entries, 'cli/commands/secure/secure.ts', 'client/index.ts'])
  for (const file of reached) {
    for (const { from, to, kind } of imports) if (from === file && kind === 'static') reached.add(to)
  }
  expect([...reached].filter((it) => it.startsWith('@noble/'))).toEqual([])
  expect(reached).toContain('client/secure.ts')
})

test('import parser finds imports, and every relative import resolves to a file', () => {
  expect(imports.length).toBeGreaterThan(files.length)
  const relative = imports.filter(({ to }) => to.endsWith('.ts')).map(({ to }) => to)
  expect(relative.filter((path) => !files.includes(path) && !files.includes(`${path}x`))).toEqual([])
})

test.each([
  ['client/call.ts', "import { a } from '../server/app.js'", 'server/app.ts'],
  ['client/call.ts', "import type { A } from '../domain/voucher.js'", 'domain/voucher.ts'],
  ['contract/apps.ts', "import Fastify from 'fastify'", 'fastify'],
  ['contract/apps.ts', "import { x } from 'node:fs'", 'node:fs'],
  ['domain/voucher.ts', "export { b } from '../store/store.js'", 'store/store.ts'],
  ['store/sqlite/store.ts', "const a = await import('../../server/app.js')", 'server/app.ts'],
  ['server/app.ts', "import '../client/index.js'", 'client/index.ts'],
  ['secure/suite.ts', "import { x } from 'undici'", 'undici'],
  ['webhook/signature.ts', "import { x } from '../contract/errors.js'", 'contract/errors.ts'],
  ['server/delivery/guard.ts', "import { x } from './sender.js'", 'server/delivery/sender.ts'],
  ['server/delivery/guard.ts', "import { x } from 'undici'", 'undici'],
  ['inspector/request-origin.ts', "import { x } from '../server/app.js'", 'server/app.ts'],
  ['inspector/request-origin.ts', "import { h } from 'preact'", 'preact'],
  ['inspector/page/main.ts', "import { x } from '../request-origin.js'", 'inspector/request-origin.ts'],
  ['inspector/page/main.ts', "import { x } from 'node:fs'", 'node:fs'],
  ['workbench/listener.ts', "import { x } from 'fastify'", 'fastify'],
  ['workbench/listener.ts', "import { x } from '../server/clock.js'", 'server/clock.ts'],
  ['cli/main.ts', "import { x } from '../server/listen.js'", 'server/listen.ts'],
  ['cli/commands/vouchers/vouchers.ts', "await import('../../../server/listen.js')", 'server/listen.ts'],
  ['cli/commands/server/server.ts', "import { x } from '../../../server/listen.js'", 'server/listen.ts'],
  ['cli/commands/server/server.ts', "await import('../../../store/sqlite/store.js')", 'store/sqlite/store.ts'],
  ['cli/main.ts', "import {\n  a,\n  b,\n} from '../domain/ids.js'", 'domain/ids.ts'],
  ['other/x.ts', "import { x } from '../contract/errors.js'", 'contract/errors.ts'],
])('import rules refuse %s with the import %j', (from, source, to) => {
  expect(breachesOf(importsOf(from, source))).toEqual([expect.stringContaining(`${from} -> ${to}: `)])
})

test.each([
  ['cli/commands/server/server.ts', "const { startServer } = await import('../../../server/listen.js')"],
  ['cli/commands/quickstart/quickstart.ts', "import type { RunningServer } from '../../../server/options.js'"],
  ['cli/commands/vouchers/vouchers.ts', "import * as vouchers from '../../../contract/vouchers.js'"],
  ['server/app.ts', "import { WebhookSender } from './delivery/sender.js'"],
  ['server/app.ts', "// import { x } from '../client/index.js'\nimport { y } from '../store/store.js'"],
])('import rules accept %s with the import %j', (from, source) => {
  expect(breachesOf(importsOf(from, source))).toEqual([])
})
