// Bundles the programs in dist/. The CLI and its server share one set of CommonJS files, because Node 20 takes 5 ms to
// start its ES module loader and 1 ms per file. No module is in two files of a program: it would be two modules.
import * as fs from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform as transformCss } from 'lightningcss'
import { build } from 'rolldown'
import { minifySync } from 'rolldown/utils'
import { licensePlugin } from 'rolldown-license-plugin'

const src = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const NO_MODULE = '\0no-module'
/** Some packages have their licence in README.md only; it is the last of these names in a folder. */
const licensing = { failOnUnlicensed: true, match: /^(?:licen[cs]e|copying|readme)/i }

/** Compiled into jq.wasm, whose package states only its own licence. licences/ has the licences of these two. */
const compiledIntoJq = [
  { name: 'jq', version: '1.8.2', license: 'MIT', purl: 'pkg:github/jqlang/jq@jq-1.8.2' },
  { name: 'Oniguruma', version: '6.9.10', license: 'BSD-2-Clause', purl: 'pkg:github/kkos/oniguruma@v6.9.10' },
]

/** Not bundled: a native module. */
const external = ['@photostructure/sqlite']

const common =
  /[\\/]src[\\/](?:values|files[\\/](?:abort-controller|yaml-text|error-code|node-globals|timers|data-dir|platform|process-alive)|contract[\\/](?:(?:secrets|updates|vouchers)\.ts|platform[\\/]captured)|client[\\/](?:call|http|retry)\.ts|secure[\\/](?:origin|client[\\/]options))/

/**
 * One file each for what every program, every command and every voucher command loads: a file takes 0.3 ms. `common` has
 * the modules of these that libraries share, because it is not minified.
 */
const groups = [
  { name: 'common', test: (id) => id === NO_MODULE || common.test(id), priority: 3 },
  { name: 'start', tags: ['$initial'], test: (id) => !id.startsWith(src('testing')), priority: 2 },
  // Every server loads each of these groups, which would otherwise be 2 to 14 files. Other commands share what they import.
  ...Object.entries({
    serving:
      /[\\/]src[\\/](?:domain|secure[\\/]server|store[\\/](?!move|postgres[\\/](?!key-))|server[\\/](?:faults|waits|keys|transport[\\/](?:shared-)?keys|seed[\\/]vouchers|http[\\/]body))/,
    server: /[\\/]commands[\\/]server[\\/](?:log-|start|server\.ts)|cli[\\/]server[\\/]seed-file|files[\\/]port-holder/,
    contract: /[\\/]contract[\\/](?:envelope|index|rate-limits|secure\.ts|platform[\\/](?!captured|platform))/,
    envelope: /[\\/]src[\\/]secure[\\/](?:aead|envelope|inner-|key-schedule|public-key|suite)/,
    codes: /[\\/]failures[\\/](?:codes|local-failures)\.ts$/,
    place: /[\\/](?:server[\\/](?:folder|database-url)|config[\\/]data-folder|output[\\/]log-line)\.ts$/,
    files: /[\\/]src[\\/]files[\\/](?!yaml)/,
  }).map(([name, test]) => ({ name, test, priority: 1, includeDependenciesRecursively: false })),
  // Packages that every server loads. Their errors do not reach users, so `minified` takes them too: 1 ms of a start.
  { name: 'router', test: /[\\/]node_modules[\\/]find-my-way[\\/]/, priority: 2 },
  { name: 'logger', test: /[\\/]node_modules[\\/]pino[\\/]/, priority: 2 },
  // Only `mcp serve` loads it.
  { name: 'mcp-library', test: /[\\/]node_modules[\\/](?:@modelcontextprotocol|zod)[\\/]/, priority: 2 },
  { name: 'vouchers', test: /[\\/]commands[\\/]vouchers[\\/]vouchers\.ts$/ },
  // Otherwise the entry would export these once more, for the chunk that imports them.
  { name: 'match', test: /[\\/]testing[\\/]match\.ts$/, priority: 4 },
]

/** Globals that a test's environment may lack or replace (files/node-globals.ts), by the module that exports Node's. */
const ofNode = {
  'node:buffer': ['Buffer', 'Blob', 'atob', 'btoa'],
  'node:util': ['TextEncoder', 'TextDecoder'],
  'node:url': ['URL', 'URLSearchParams'],
  [src('files/node-globals.ts')]: ['Uint8Array', 'structuredClone'],
  [src('files/abort-controller.ts')]: ['AbortController', 'AbortSignal'],
}
/** Timers that a test's fakes do not replace (files/timers.ts): for global names, and for exports of Node's modules. */
const timers = src('files/timers.ts')
const timersPromises = src('files/timers-promises.ts')
const timerNames = ['Timeout', 'Interval', 'Immediate'].flatMap((it) => [`set${it}`, `clear${it}`])
const captured = {
  ...Object.fromEntries(Object.entries(ofNode).flatMap(([from, names]) => names.map((it) => [it, [from, it]]))),
  crypto: ['node:crypto', 'webcrypto'],
  ...Object.fromEntries([...timerNames, 'queueMicrotask', 'performance'].map((it) => [it, [timers, it]])),
  'process.nextTick': [timers, 'nextTick'],
}
const withCapturedTimers = {
  name: 'with-captured-timers',
  resolveId: (id, importer) => {
    if (importer === timers || importer === timersPromises) return undefined
    return { 'node:timers': timers, 'node:timers/promises': timersPromises }[id]
  },
}

/** The validator of the protocol library that browsers load: 130 KB less; schemas of tools have the validator of the server. */
const protocolShims = {
  name: 'protocol-shims',
  resolveId: (id) =>
    id === '@modelcontextprotocol/server/_shims'
      ? fileURLToPath(new URL('shimsBrowser.mjs', import.meta.resolve('@modelcontextprotocol/server')))
      : undefined,
}

const programs = [
  {
    input: { 'cli/main': src('cli/main.ts'), 'testing/index': src('testing/index.ts') },
    // Lets the entry contain the group `start`, instead of loading it from another file.
    preserveEntrySignatures: 'allow-extension',
    // import() would start the ES module loader.
    output: { format: 'cjs', dynamicImportInCjs: false, codeSplitting: { groups } },
    plugins: [withCapturedTimers, protocolShims],
    // Not in libraries: a test that fakes Date expects verifyWebhook to follow it.
    transform: { inject: { ...captured, Date: [timers, 'Date'] } },
  },
  { input: { 'chunks/jq-worker': src('cli/output/jq-worker.cjs') }, output: { format: 'cjs' } },
  // The webhook library shares no module with the others, so it is a single file; it loads only modules of Node.
  {
    input: Object.fromEntries(['client', 'secure', 'webhook'].map((it) => [`${it}/index`, src(`${it}/index.ts`)])),
    output: { format: 'cjs', dynamicImportInCjs: false, chunkFileNames: 'libraries/[name].cjs' },
    plugins: [withCapturedTimers],
    transform: { inject: captured },
  },
  {
    input: { 'inspector/app': src('inspector/page/main.tsx') },
    platform: 'browser',
    preserveEntrySignatures: 'allow-extension',
    // One file for the first view, and one for all others: a file for each view compresses badly, 9 KB more in total.
    output: {
      chunkFileNames: 'inspector/[name].js',
      codeSplitting: {
        groups: [{ name: 'first', tags: ['$initial'], priority: 1 }, { name: 'views' }],
      },
    },
    // Without this line, the bundle takes the JSX runtime that tsconfig.json names for types: 270 bytes more with gzip.
    tsconfig: false,
    transform: {
      jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'Fragment' },
      inject: { h: ['preact', 'h'], Fragment: ['preact', 'Fragment'] },
    },
  },
]

/** Modules that packages load for unused features: 1.6 ms of a command, 12 ms of a server start. */
const unused = {
  commander: ['node:child_process', './help.js', './lib/help.js', './suggestSimilar'],
  'find-my-way': ['safe-regex2', './lib/pretty-print', 'node:assert'],
  pino: ['./lib/transport', './transport', './lib/multistream', '@pinojs/redact', 'worker_threads'],
  'sonic-boom': ['assert'],
}
const importing = /.*[\\/]node_modules[\\/]([^\\/]+)/
const withoutUnused = {
  name: 'without-unused',
  resolveId: (id, importer) => (unused[importing.exec(importer)?.[1]]?.includes(id) ? NO_MODULE : undefined),
  // A function, because the router calls one while it loads, to check its own patterns.
  load: (id) => (id === NO_MODULE ? 'module.exports = () => true' : undefined),
}

/** Faster forms of what Rolldown writes. */
const rewritten = {
  name: 'rewritten',
  renderChunk: (code) =>
    code
      // Node 20 parses arrow functions around CommonJS modules twice, functions in parentheses once: 1.3 ms of a verify.
      .replaceAll(/(rolldown_runtime\.\w+\(\()\((.*?)\) => \{/g, '$1function($2) {')
      // A bundler that turns a CommonJS library into ESM keeps `require` of Node's modules, which fails in ESM.
      .replaceAll(/\brequire\("([\w:/]+)"\)/g, (call, id) =>
        id.startsWith('node:') || builtinModules.includes(id) ? `globalThis.process.getBuiltinModule("${id}")` : call,
      )
      // Copying the members of a module takes 0.1 ms; exports that never change need no getters.
      .replaceAll(/^(node_\w+) = [\w.]*__toESM\(\1, 1\);$/gm, '$1 = { __proto__: $1, default: $1 };')
      .replaceAll(
        /^Object\.defineProperty\(exports, "([^"]+)", [^]*?return (.*?);[^]*?\n\}\);$/gm,
        (getter, name, it) => {
          const isConstant = new RegExp(`^(?:const|class|(?:async )?function) ${it}\\b`, 'm').test(code)
          return isConstant ? `exports.${name} = ${it};` : getter
        },
      ),
}

const library = /^(?:client|secure|testing|webhook)\/index/

/** Chunks that a library may load keep their lines and names, which stacks show; without them, the others load faster. */
const minified = {
  name: 'minified',
  renderChunk(code, { name, fileName }, _options, { chunks }) {
    const readable = new Set(Object.keys(chunks).filter((it) => library.test(it)))
    for (const it of readable) {
      const { imports, dynamicImports } = chunks[it]
      for (const next of [...imports, ...dynamicImports]) if (next in chunks) readable.add(next)
    }
    if (readable.has(fileName) && name !== 'router' && name !== 'logger') return null
    // With a newer target, the compressor would replace the functions of `rewritten` with arrow functions.
    const options = {
      compress: { target: 'es2015' },
      mangle: true,
      codegen: { removeWhitespace: true, asciiOnly: true },
    }
    return minifySync(fileName, code, options).code
  },
}

/**
 * Writes the files of all programs and the licences of their packages; returns Rolldown's report of each program, and
 * the packages.
 */
export async function bundle(dir) {
  const packages = new Map()
  const licences = new Set()
  const collect = (found) => {
    for (const { name, version, license, purl, licenseText } of found) {
      packages.set(`${name} ${version}`, { name, version, license, purl })
      const text = licenseText.trim() || 'Only declared in its package.json.'
      licences.add(`${name} ${version} (${license})\n\n${text}\n`)
    }
  }
  const licenceOf = ({ name }) => fs.readFileSync(src(`build/licences/${name.toLowerCase()}.txt`), 'utf8')
  collect(compiledIntoJq.map((it) => ({ ...it, licenseText: licenceOf(it) })))
  const bundling = programs.map(({ output, transform, plugins = [], ...program }) =>
    build({
      platform: 'node',
      checks: { pluginTimings: false, ineffectiveDynamicImport: false },
      plugins: [...plugins, withoutUnused, rewritten, minified, licensePlugin({ ...licensing, done: collect })],
      external,
      ...program,
      transform: { target: 'node20.19', ...transform },
      output: {
        dir,
        entryFileNames: `[name].${output?.format ?? 'js'}`,
        chunkFileNames: `chunks/[name].${output?.format ?? 'js'}`,
        // By default, Rolldown would format the code of `minified` again.
        minify: false,
        comments: false,
        charset: 'ascii',
        ...output,
      },
    }),
  )
  const reports = await Promise.all(bundling)
  // `import` and `require` load one implementation: an error class of one would be another class to the other.
  for (const { name, exports, isEntry } of reports.flatMap(({ output }) => output))
    if (isEntry && library.test(name))
      fs.writeFileSync(join(dir, `${name}.js`), `export { ${exports.join(', ')} } from './index.cjs'\n`)
  fs.writeFileSync(join(dir, 'THIRD-PARTY-LICENSES'), [...licences].sort().join(`\n${'-'.repeat(80)}\n\n`))
  // jq-wasm looks for jq.wasm next to its worker script; only --jq loads it.
  fs.mkdirSync(join(dir, 'chunks/build'), { recursive: true })
  fs.copyFileSync(new URL(import.meta.resolve('jq-wasm/jq.wasm')), join(dir, 'chunks/build/jq.wasm'))
  for (const file of ['index.html', 'icon.svg'])
    fs.copyFileSync(src(`inspector/page/${file}`), join(dir, 'inspector', file))
  const styles = fs.readFileSync(src('inspector/page/page.css'))
  fs.writeFileSync(join(dir, 'inspector/app.css'), transformCss({ code: styles, minify: true }).code)
  return { programs: reports, packages: [...packages.keys()].sort().map((it) => packages.get(it)) }
}
