// Bundles the programs in dist/. The CLI and the server that it starts share one set of CommonJS files, because Node 20
// takes 5 ms to start its ES module loader and 1 ms per file. No module is in two files: two copies of a class would be
// different classes.
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform as transformCss } from 'lightningcss'
import { build } from 'rolldown'

const root = fileURLToPath(new URL('../..', import.meta.url))
const src = (path) => join(root, 'src', path)
const NO_MODULE = '\0no-module'

/** Not bundled: a native module, and Fastify's schema compilers (a third of the server), replaced by server/app.ts. */
const external = ['@photostructure/sqlite', '@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler']

/** One file each for what every program, every command and every voucher command loads: a file takes 0.3 ms. */
const groups = [
  { name: 'start', tags: ['$initial'], test: (id) => !id.startsWith(src('testing')), priority: 2 },
  { name: 'run', test: /[\\/]cli[\\/]execute\.ts$/, priority: 1 },
  { name: 'vouchers', test: /[\\/]commands[\\/]vouchers[\\/]vouchers\.ts$/ },
]

const programs = [
  {
    input: { 'cli/main': src('cli/main.ts'), 'testing/index': src('testing/index.ts') },
    // Lets the entry contain the group `start`, instead of loading it from another file.
    preserveEntrySignatures: 'allow-extension',
    output: {
      format: 'cjs',
      // import() would start the ES module loader.
      dynamicImportInCjs: false,
      entryFileNames: '[name].cjs',
      chunkFileNames: 'chunks/[name].cjs',
      codeSplitting: { groups },
    },
  },
  {
    input: { 'chunks/jq-worker': src('cli/output/jq/jq-worker.cjs') },
    output: { format: 'cjs', entryFileNames: '[name].cjs' },
  },
  // The webhook library shares no module with the others, so it is a single file; it loads only node:crypto.
  {
    input: Object.fromEntries(['client', 'secure', 'webhook'].map((it) => [`${it}/index`, src(`${it}/index.ts`)])),
    output: { chunkFileNames: 'chunks/[name].js' },
  },
  {
    input: { 'inspector/app': src('inspector/page/main.tsx') },
    platform: 'browser',
    // With gzip 270 bytes less than the runtime that tsconfig.json names for types.
    tsconfig: false,
    transform: {
      jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'Fragment' },
      inject: { h: ['preact', 'h'], Fragment: ['preact', 'Fragment'] },
    },
  },
]

/** Modules that packages load for features that this program does not use: 1.6 ms of a command, 11 ms of a server start. */
const unused = {
  commander: ['node:child_process', './help.js', './lib/help.js'],
  fastify: ['node:http2', 'node:https', 'semver', '@fastify/proxy-addr', 'light-my-request', 'pino'],
  pino: ['./lib/transport', './transport'],
}

const withoutUnused = {
  name: 'without-unused',
  resolveId(id, importer = '') {
    const [, importing] = /.*[\\/]node_modules[\\/]([^\\/]+)/.exec(importer) ?? []
    return unused[importing]?.includes(id) ? NO_MODULE : undefined
  },
  load: (id) => (id === NO_MODULE ? 'export {}' : undefined),
}

/**
 * Node 20 parses arrow functions, in which Rolldown wraps CommonJS modules, twice; functions in parentheses once. No
 * option of Rolldown avoids the arrow functions. They cost 1.3 ms of 48 ms CPU time of a verify, 7 of 107 of a server start.
 */
const parsedOnce = {
  name: 'parsed-once',
  renderChunk: (code) => code.replaceAll(/(rolldown_runtime\.\w+\(\()\((.*?)\) => \{/g, '$1function($2) {'),
}

/** Writes the files of all programs; returns the modules in each file and the files that it loads, by program. */
export async function bundle(dir) {
  // With a newer target, the compressor would replace the functions of `parsedOnce` with arrow functions.
  const minify = { compress: { target: 'es2015' }, mangle: true, codegen: true }
  const bundling = programs.map(async ({ output, transform, ...program }) => {
    const built = await build({
      platform: 'node',
      checks: { pluginTimings: false, ineffectiveDynamicImport: false },
      plugins: [withoutUnused, parsedOnce],
      external,
      ...program,
      transform: { target: 'node20.19', ...transform },
      output: { ...output, dir, minify, comments: false, charset: 'ascii' },
    })
    return Object.fromEntries(built.output.map((file) => [file.fileName, contentsOf(file)]))
  })
  const bundled = await Promise.all(bundling)
  // jq-wasm looks for jq.wasm next to its worker script; only --jq loads it.
  fs.mkdirSync(join(dir, 'chunks/build'), { recursive: true })
  fs.copyFileSync(new URL(import.meta.resolve('jq-wasm/jq.wasm')), join(dir, 'chunks/build/jq.wasm'))
  for (const file of ['index.html', 'icon.svg']) {
    fs.copyFileSync(src(`inspector/page/${file}`), join(dir, 'inspector', file))
  }
  const styles = fs.readFileSync(src('inspector/page/page.css'))
  fs.writeFileSync(join(dir, 'inspector/app.css'), transformCss({ code: styles, minify: true }).code)
  return bundled
}

const contentsOf = ({ moduleIds, imports, dynamicImports }) => ({
  modules: moduleIds.filter((id) => id.startsWith(root)).map((id) => id.slice(root.length)),
  loads: [...imports, ...dynamicImports].filter((name) => name.endsWith('.cjs')),
})
