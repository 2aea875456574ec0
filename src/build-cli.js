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
  define: { 'import.meta.url': '__fileUrl' },
  banner: { js: "const __fileUrl=require('node:url').pathToFileURL(__filename).href;" },
}

// A call needs the names of an endpoint's members; compiling and making its schemas takes 3 ms of every start.
const withoutSchemas = { typebox: './src/cli/no-schemas.js' }
const NEEDS_SCHEMAS = /^contract-openapi|^contract-index/

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

/**
 * @param outdir receives cli/, chunks/ and server/
 * @returns the metafiles, in which the bundled packages are named
 */
export async function buildCommandLine(outdir) {
  const plan = { ...options, format: 'esm', supported: {}, outdir, entryPoints: [MAIN], write: false }
  const { metafile } = await build({ ...plan, splitting: true, plugins: [serverApart] })
  const { inputs } = metafile
  const first = closure(inputs, [MAIN])
  const chunks = chunksOf(inputs, first)

  const pointing = (fromMain) => ({
    name: 'chunks',
    setup: (it) =>
      it.onResolve({ filter: /.*/ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
        if (kind === 'entry-point' || pluginData === 'resolving') return undefined
        const resolved = await it.resolve(path, { kind, importer, resolveDir, pluginData: 'resolving' })
        if (resolved.errors.length > 0 || resolved.external) return resolved
        const input = relative(process.cwd(), resolved.path)
        const chunk = kind === 'dynamic-import' ? chunks.get(input) : undefined
        if (chunk !== undefined) return { path: fromMain ? `../chunks/${chunk}` : `./${chunk}`, external: true }
        return !fromMain && first.has(input) ? { path: '../cli/main.cjs', external: true } : resolved
      }),
  })
  const everything = [...first].map((path) => `export * from './${path}'`).join('\n')
  const files = await Promise.all([
    build({ ...options, entryPoints: ['src/server/listen.ts'], outfile: join(outdir, 'server/listen.cjs') }),
    build({
      ...options,
      alias: withoutSchemas,
      stdin: { contents: everything, resolveDir: process.cwd(), sourcefile: 'main-with-exports.js' },
      outfile: join(outdir, 'cli/main.cjs'),
      plugins: [serverApart, withoutChildProcess, pointing(true)],
    }),
    ...[...chunks].map(([path, name]) =>
      build({
        ...options,
        alias: NEEDS_SCHEMAS.test(name) ? {} : withoutSchemas,
        entryPoints: [path],
        outfile: join(outdir, 'chunks', name),
        plugins: [serverApart, withoutChildProcess, pointing(false)],
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
