// Bundles the command line, and the server that it starts, as CommonJS: Node 20 takes 5 ms to start its loader of ES
// modules, and a millisecond for each file. So a command opens few: whatever is imported on demand (a command group, a
// package) is one chunk, and what the first file holds anyway is taken from there. esbuild's own splitting makes a
// chunk of every set of modules that some commands share, two dozen files for one command. A module that several
// chunks share is in each of them here; none keeps state.
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, relative } from 'node:path'
import process from 'node:process'
import { build } from 'esbuild'

const MAIN = 'src/cli/main.ts'

/** What every bundle has in common. */
export const commonOptions = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  minify: true,
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
}

const options = {
  ...commonOptions,
  format: 'cjs',
  // Native code cannot be bundled.
  external: ['better-sqlite3'],
  // Chunks are required: import() would start the loader of ES modules after all.
  supported: { 'dynamic-import': false },
  define: { 'import.meta.url': '__file.url' },
  banner: { js: "const __file={get url(){return require('node:url').pathToFileURL(__filename).href}};" },
}

// A call needs the names of an endpoint's members; compiling and making its schemas takes 3 ms of every start.
const withoutSchemas = { typebox: './src/cli/no-schemas.js' }
const NEEDS_SCHEMAS = /^contract-openapi/

/** Of undici only the two that are used: what its first file brings along (fetch, caches, mocks) is half of it. */
export const undiciInPart = {
  name: 'undici-in-part',
  setup: (it) => {
    it.onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'in-part' }))
    it.onLoad({ filter: /.*/, namespace: 'in-part' }, () => ({
      contents: ['Client', 'Pool']
        .map((name) => `export { default as ${name} } from 'undici/lib/dispatcher/${name.toLowerCase()}.js'`)
        .join('\n'),
      resolveDir: process.cwd(),
    }))
  },
}

/**
 * Large modules that many commands share: each has a chunk of its own. Every other module that several chunks share is
 * in each of them, and so are these in QUICK, which opens no more files than it must.
 */
const SHARED = [
  'src/cli/commands/issue.ts',
  'src/contract/vouchers.ts',
  'src/cli/bulk/read-rows.ts',
  'src/cli/store-credential.ts',
  'src/cli/commands/paging.ts',
  'src/cli/bulk/csv-records.ts',
  'src/contract/apps.ts',
  'src/contract/bots.ts',
  'src/contract/platform.ts',
  'src/contract/templates.ts',
  'src/contract/tokens.ts',
  'src/contract/webhook.ts',
  'src/secure/client-key.ts',
  'src/secure/client-session.ts',
  'src/secure/inner-request.ts',
  'src/secure/negotiation.ts',
  'src/secure/failure.ts',
  'src/webhooks/inbox.ts',
  'src/webhooks/inbox-files.ts',
  'src/webhooks/inbox-lines.ts',
  'src/webhooks/listener.ts',
  'src/webhooks/mismatch-causes.ts',
  'src/webhooks/signature.ts',
]

/** The chunk of verify and redeem, which people wait for at a till. */
const QUICK = 'cli-commands-vouchers.cjs'

/** What every call needs beside the first file: in it, each is there once. */
const EVERYWHERE = ['src/cli/context.ts', 'src/cli/settings.ts', 'src/contract/fields.ts']

const serverApart = {
  name: 'server-apart',
  setup: (it) =>
    it.onResolve({ filter: /\/server\/listen\.js$/ }, () => ({ path: '../server/listen.cjs', external: true })),
}

// commander 14 loads node:child_process for commands that are programs of their own; there are none here.
const withoutChildProcess = {
  name: 'without-child-process',
  setup: ({ onLoad }) =>
    onLoad({ filter: /commander\/lib\/command\.js$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8')
      const contents = source.replace("require('node:child_process')", '{}')
      if (contents === source) throw new Error('commander has changed: see without-child-process')
      return { contents, loader: 'js' }
    }),
}

// ora shows one spinner; the others are half of its bundle.
const oneSpinner = {
  name: 'one-spinner',
  setup: ({ onLoad }) =>
    onLoad({ filter: /cli-spinners\/spinners\.json$/ }, ({ path }) => {
      const { dots, line } = JSON.parse(readFileSync(path, 'utf8'))
      return { contents: JSON.stringify({ dots, line }), loader: 'json' }
    }),
}

/**
 * @param outdir receives cli/, chunks/ and server/
 * @returns the metafiles, in which the bundled packages are named
 */
export async function buildCommandLine(outdir) {
  const plan = { ...options, format: 'esm', supported: {}, outdir, entryPoints: [MAIN], write: false }
  const { metafile } = await build({ ...plan, splitting: true, plugins: [serverApart, undiciInPart] })
  const { inputs } = metafile
  const first = [...closure(inputs, [MAIN, ...EVERYWHERE])].filter((path) => path.startsWith('src/'))
  const chunks = chunksOf(inputs, first)
  for (const path of SHARED) chunks.set(path, `${nameOf(path)}.cjs`)

  const names = new Map(first.map((path, i) => [path, `m${i}`]))
  const pointing = ({ fromMain = false, needsSchemas = false, isQuick = false }) => ({
    name: 'chunks',
    setup: (it) => {
      it.onResolve({ filter: /.*/ }, async ({ path, kind, importer, resolveDir, pluginData, namespace }) => {
        if (kind === 'entry-point' || pluginData === 'resolving') return undefined
        if (namespace === 'main') return { path, external: true }
        const resolved = await it.resolve(path, { kind, importer, resolveDir, pluginData: 'resolving' })
        if (resolved.errors.length > 0 || resolved.external) return resolved
        const input = relative(process.cwd(), resolved.path)
        const isShared = !isQuick && SHARED.includes(input) && !(needsSchemas && input.startsWith('src/contract/'))
        const chunk = kind === 'dynamic-import' || isShared ? chunks.get(input) : undefined
        if (chunk !== undefined) return { path: fromMain ? `../chunks/${chunk}` : `./${chunk}`, external: true }
        const isInMain = !fromMain && names.has(input) && !(needsSchemas && input === 'src/contract/fields.ts')
        return isInMain ? { path: names.get(input), namespace: 'main' } : resolved
      })
      it.onLoad({ filter: /.*/, namespace: 'main' }, ({ path }) => ({
        contents: `module.exports = require('../cli/main.cjs').${path}`,
      }))
    },
  })
  // Each file under a name of its own, since two of them may export the same name.
  const exported = [...names].map(([path, name]) => `export * as ${name} from './${path}'`)
  const everything = [`export * from './${MAIN}'`, ...exported].join('\n')
  const files = await Promise.all([
    build({
      ...options,
      entryPoints: ['src/server/listen.ts'],
      outfile: join(outdir, 'server/listen.cjs'),
      plugins: [undiciInPart],
    }),
    build({
      ...options,
      alias: withoutSchemas,
      stdin: { contents: everything, resolveDir: process.cwd(), sourcefile: 'main-with-exports.js' },
      outfile: join(outdir, 'cli/main.cjs'),
      plugins: [serverApart, undiciInPart, withoutChildProcess, pointing({ fromMain: true })],
    }),
    ...[...chunks].map(([path, name]) =>
      build({
        ...options,
        alias: NEEDS_SCHEMAS.test(name) ? {} : withoutSchemas,
        entryPoints: [path],
        outfile: join(outdir, 'chunks', name),
        plugins: [
          serverApart,
          undiciInPart,
          withoutChildProcess,
          oneSpinner,
          pointing({ needsSchemas: NEEDS_SCHEMAS.test(name), isQuick: name === QUICK }),
        ],
      }),
    ),
  ])
  const worker = await build({
    ...options,
    entryPoints: ['src/cli/jq-worker.cjs'],
    outfile: join(outdir, 'chunks/jq-worker.cjs'),
  })
  copyJq(join(outdir, 'chunks/build'))
  return [...files, worker].map((file) => file.metafile)
}

/** jq itself: a file beside the bundle, where jq-wasm looks for it, so that only --jq reads it. */
function copyJq(folder) {
  mkdirSync(folder, { recursive: true })
  copyFileSync(createRequire(import.meta.url).resolve('jq-wasm/jq.wasm'), join(folder, 'jq.wasm'))
}

/** File names of whatever is imported on demand, by input path. */
function chunksOf(inputs, first) {
  const chunks = new Map()
  let found = onDemand(inputs, first)
  while (found.length > 0) {
    for (const path of found) chunks.set(path, `${nameOf(path)}.cjs`)
    found = found.flatMap((path) => onDemand(inputs, closure(inputs, [path]))).filter((path) => !chunks.has(path))
  }
  if (new Set(chunks.values()).size !== chunks.size) throw new Error('two chunks have one name')
  return chunks
}

/** What a file brings with it at once. */
function closure(inputs, paths) {
  const seen = new Set()
  const open = [...paths]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue
    seen.add(path)
    for (const it of inputs[path].imports) if (!it.external && it.kind !== 'dynamic-import') open.push(it.path)
  }
  return seen
}

function onDemand(inputs, paths) {
  const found = [...paths].flatMap((path) => inputs[path].imports.filter((it) => it.kind === 'dynamic-import'))
  return [...new Set(found.filter((it) => !it.external).map((it) => it.path))]
}

/** `cli-commands-vouchers`, or the name of a package. */
function nameOf(path) {
  const inPackage = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]
  const name = inPackage ?? path.replace(/^src\//, '').replace(/\.[jt]s$/, '')
  return `${name.replaceAll('/', '-')}${inPackage === undefined ? '' : `-${basename(path).replace(/\.[cm]?js$/, '')}`}`
}
