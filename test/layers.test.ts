import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

interface Import {
  /** Path of the importing file inside src/. */
  readonly from: string
  /** Path inside src/, or the name of a package or a built-in. */
  readonly to: string
  readonly kind: 'static' | 'type' | 'dynamic'
}

/** What the files of a folder may import from other folders of src/, and from packages where that is limited. */
const layers: Readonly<Record<string, { readonly folders: readonly string[]; readonly packages?: RegExp }>> = {
  contract: { folders: [], packages: /^$/ },
  domain: { folders: ['contract'] },
  store: { folders: ['domain', 'contract'] },
  server: { folders: ['store', 'domain', 'contract', 'webhooks', 'secure'] },
  client: { folders: ['contract', 'secure'] },
  secure: { folders: [], packages: /^(node:|@noble\/)/ },
  webhooks: { folders: ['contract'], packages: /^(node:|undici$)/ },
  cli: { folders: ['client', 'contract', 'webhooks', 'secure'] },
}

/** The commands that run the bundled server load it when they run, so that no other command pays for it. */
const serverCommands = [
  'cli/commands/server.ts',
  'cli/commands/server-migrate.ts',
  'cli/commands/server-export.ts',
  'cli/commands/server-import.ts',
  'cli/commands/quickstart.ts',
  'cli/scenario/stage.ts',
]

/** Why an import breaks the layers, or undefined. */
function breach({ from, to, kind }: Import): string | undefined {
  const folder = from.split('/', 1)[0] ?? ''
  const layer = layers[folder]
  if (layer === undefined) return `${folder}/ has no place among the layers`
  if (from === 'webhooks/signature.ts' && !/^(node:|@noble\/)/.test(to)) {
    return 'a verifier that others embed imports only noble and node built-ins'
  }
  if (from === 'webhooks/guard.ts' && !to.startsWith('node:')) {
    return 'what decides where deliveries go is audited in one file'
  }
  if (!to.endsWith('.ts')) {
    return layer.packages === undefined || layer.packages.test(to) ? undefined : `${folder}/ must not know this package`
  }
  const target = to.split('/', 1)[0] ?? ''
  if (target === folder || layer.folders.includes(target)) return undefined
  if (target === 'server' && serverCommands.includes(from)) {
    return kind === 'static' ? 'the server is loaded with await import(), when the command runs' : undefined
  }
  return `${folder}/ may import ${layer.folders.join(', ') || 'nothing else'}, not ${target}/`
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

const src = fileURLToPath(new URL('../src', import.meta.url))
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.ts'))
const imports = files.flatMap((path) => importsOf(path, readFileSync(join(src, path), 'utf8')))

test('every import of src/ keeps the layers', () => {
  expect(breachesOf(imports)).toEqual([])
})

test('the library of webhook receivers reaches no package: it is embedded into the servers of others', () => {
  const reached = new Set(['webhooks/index.ts'])
  for (const file of reached) {
    for (const { from, to, kind } of imports) if (from === file && kind !== 'type') reached.add(to)
  }
  expect([...reached].filter((it) => !it.startsWith('webhooks/'))).toEqual(['node:crypto'])
})

test('a call in plain text loads nothing of the curve: 26 ms that only those pay who encrypt', () => {
  const entries = ['cli/main.ts', 'cli/execute.ts', 'cli/calling.ts', 'cli/opening.ts', 'cli/commands/vouchers.ts']
  const reached = new Set([...entries, 'cli/commands/secure.ts', 'client/index.ts'])
  for (const file of reached) {
    for (const { from, to, kind } of imports) if (from === file && kind === 'static') reached.add(to)
  }
  expect([...reached].filter((it) => it.startsWith('@noble/'))).toEqual([])
  expect(reached).toContain('client/secure.ts')
})

test('the reader of imports finds them: each file under src/ that has any, every relative one a file that is there', () => {
  expect(imports.length).toBeGreaterThan(files.length)
  const relative = imports.filter(({ to }) => to.endsWith('.ts')).map(({ to }) => to)
  expect(relative.filter((path) => !files.includes(path))).toEqual([])
})

test.each([
  ['client/call.ts', "import { a } from '../server/app.js'", 'server/app.ts'],
  ['client/call.ts', "import type { A } from '../domain/voucher.js'", 'domain/voucher.ts'],
  ['contract/apps.ts', "import Fastify from 'fastify'", 'fastify'],
  ['contract/apps.ts', "import { x } from 'node:fs'", 'node:fs'],
  ['domain/voucher.ts', "export { b } from '../store/store.js'", 'store/store.ts'],
  ['store/sqlite.ts', "const a = await import('../server/app.js')", 'server/app.ts'],
  ['server/app.ts', "import '../client/index.js'", 'client/index.ts'],
  ['secure/suite.ts', "import { x } from 'undici'", 'undici'],
  ['webhooks/signature.ts', "import { x } from '../contract/errors.js'", 'contract/errors.ts'],
  ['webhooks/guard.ts', "import { x } from './deliver.js'", 'webhooks/deliver.ts'],
  ['webhooks/guard.ts', "import { x } from 'undici'", 'undici'],
  ['webhooks/deliver.ts', "import { x } from 'fastify'", 'fastify'],
  ['webhooks/deliver.ts', "import { x } from '../server/clock.js'", 'server/clock.ts'],
  ['cli/main.ts', "import { x } from '../server/listen.js'", 'server/listen.ts'],
  ['cli/commands/vouchers.ts', "await import('../../server/listen.js')", 'server/listen.ts'],
  ['cli/commands/server.ts', "import { x } from '../../server/listen.js'", 'server/listen.ts'],
  ['cli/commands/server.ts', "await import('../../store/sqlite.js')", 'store/sqlite.ts'],
  ['cli/main.ts', "import {\n  a,\n  b,\n} from '../domain/ids.js'", 'domain/ids.ts'],
  ['other/x.ts', "import { x } from '../contract/errors.js'", 'contract/errors.ts'],
])('%s with %j is refused', (from, source, to) => {
  expect(breachesOf(importsOf(from, source))).toEqual([expect.stringContaining(`${from} -> ${to}: `)])
})

test.each([
  ['cli/commands/server.ts', "const { startServer } = await import('../../server/listen.js')"],
  ['cli/commands/quickstart.ts', "import type { RunningServer } from '../../server/options.js'"],
  ['cli/commands/vouchers.ts', "import * as vouchers from '../../contract/vouchers.js'"],
  ['server/app.ts', "import { createSender } from '../webhooks/deliver.js'"],
  ['server/app.ts', "// import { x } from '../client/index.js'\nimport { y } from '../store/store.js'"],
])('%s with %j is fine', (from, source) => {
  expect(breachesOf(importsOf(from, source))).toEqual([])
})
