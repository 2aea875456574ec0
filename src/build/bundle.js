// Bundles the programs in dist/. The CLI and the server that it starts share one set of CommonJS files, because Node 20
// takes 5 ms to start its ES module loader and 1 ms per file. Each module imported on demand gets its own file, and no
// module is in two files: two copies of a class would be different classes.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform as transformCss } from 'lightningcss'
import { build } from 'rolldown'

const root = fileURLToPath(new URL('../..', import.meta.url))
const src = (path) => join(root, 'src', path)
const NO_MODULE = '\0no-module'

/** Not bundled: a native module, and Fastify's schema compilers (a third of the server), replaced by server/app.ts. */
const external = ['@photostructure/sqlite', '@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler']

/** Files for modules and their imports that every process, every command, most groups and the voucher commands load. */
const groups = [
  { name: 'start', tags: ['$initial'], test: (id) => !id.startsWith(src('testing')), priority: 3 },
  { name: 'run', test: /[\\/]cli[\\/](execute|exit|output[\\/]failure-text)\.ts$/, priority: 2 },
  { name: 'shared', test: /[\\/](contract[\\/](fields|vouchers)|flags[\\/]defined)\.ts$/, priority: 1 },
  { name: 'vouchers', test: /[\\/]commands[\\/]vouchers[\\/]vouchers\.ts$/ },
]

const programs = [
  {
    input: { 'cli/main': src('cli/main.ts'), 'testing/index': src('testing/index.ts') },
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
  {
    input: { 'client/index': src('client/index.ts'), 'secure/index': src('secure/index.ts') },
    output: { format: 'esm', chunkFileNames: 'chunks/[name].js' },
  },
  // The webhook library is a single file that other servers can import; it loads only node:crypto.
  { input: { 'webhook/index': src('webhook/index.ts') }, output: { format: 'esm' } },
  {
    input: { 'inspector/app': src('inspector/page/main.tsx') },
    output: { format: 'esm' },
    platform: 'browser',
    // With gzip 270 bytes less than the runtime that tsconfig.json names for types.
    tsconfig: false,
    transform: {
      jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'Fragment' },
      inject: { h: ['preact', 'h'], Fragment: ['preact', 'Fragment'] },
    },
  },
]

/** Writes the files of all programs; returns the modules in each file and the files that it loads, by program. */
export async function bundle(outdir) {
  const plugins = [withoutUnused, parsedOnce]
  // With a newer target, the compressor would replace the functions of `parsedOnce` with arrow functions.
  const minify = { compress: { target: 'es2015' }, mangle: true, codegen: true }
  const bundling = programs.map(async ({ output, transform, ...program }) => {
    const built = await build({
      platform: 'node',
      checks: { pluginTimings: false },
      plugins,
      external,
      ...program,
      transform: { target: 'node20.19', ...transform },
      output: { ...output, dir: outdir, minify, comments: false },
    })
    return Object.fromEntries(built.output.map((file) => [file.fileName, contentsOf(file)]))
  })
  const bundled = await Promise.all(bundling)
  // jq-wasm looks for jq.wasm next to its worker script; only --jq loads it.
  mkdirSync(join(outdir, 'chunks/build'), { recursive: true })
  copyFileSync(new URL(import.meta.resolve('jq-wasm/jq.wasm')), join(outdir, 'chunks/build/jq.wasm'))
  for (const file of ['index.html', 'icon.svg']) {
    copyFileSync(src(`inspector/page/${file}`), join(outdir, 'inspector', file))
  }
  const styles = readFileSync(src('inspector/page/page.css'))
  const { code } = transformCss({ filename: 'page.css', code: styles, minify: true })
  writeFileSync(join(outdir, 'inspector/app.css'), code)
  // One implementation for `import` and `require`, so that their classes and servers are the same.
  writeFileSync(
    join(outdir, 'testing/index.js'),
    "import testing from './index.cjs'\n\nexport const { startServer } = testing\n",
  )
  return bundled
}

const contentsOf = ({ moduleIds, imports, dynamicImports }) => ({
  modules: moduleIds.filter((id) => id.startsWith(root)).map((id) => id.slice(root.length)),
  loads: [...imports, ...dynamicImports].filter((name) => name.endsWith('.cjs')),
})

/**
 * Modules that packages import for features that this program does not use: commander's subcommands in other files, help
 * and suggestions; Fastify's HTTP/2, TLS, log, versions of plugins, proxies and injected requests; pino's threads. They
 * would take 5 ms of each command and 15 ms of the start of a server.
 */
const unused = {
  commander: ['node:child_process', './help.js', './lib/help.js', './suggestSimilar'],
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
 * option of Rolldown avoids the arrow functions, which cost `--help` about 4 % (1.6 ms).
 */
const parsedOnce = {
  name: 'parsed-once',
  renderChunk: (code) => code.replaceAll(/(rolldown_runtime\.\w+\(\()\((.*?)\) => \{/g, '$1function($2) {'),
}
