// Bundles the programs in dist/. The command line and the server that it starts are one program of CommonJS files: Node
// 20 takes 5 ms to start its ES module loader, and 1 ms per file. Each module that is imported on demand has its own
// file, and no module is in two files: two copies of a class would be different classes.
import { copyFileSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const root = fileURLToPath(new URL('../..', import.meta.url))
const src = (path) => join(root, 'src', path)
const require = createRequire(import.meta.url)

/** Entry points of the files that most commands load: one file each, because each file takes time to load. */
const START = src('cli/main.ts')
const CONTRACT = src('contract/vouchers.ts')
const RUN = src('cli/execute.ts')
const NO_MODULE = '\0no-module'

/**
 * @param outdir folder for cli/, server/, chunks/ and the libraries
 * @returns the files of each program, with their modules and the files that they load
 */
export async function bundle(outdir) {
  const commandLine = {
    input: { 'cli/main': START, 'server/listen': src('server/listen.ts') },
    output: {
      format: 'cjs',
      // import() would start the ES module loader.
      dynamicImportInCjs: false,
      entryFileNames: '[name].cjs',
      chunkFileNames: 'chunks/[name].cjs',
      // A group includes the static imports of its module; the higher priority gets what both import.
      codeSplitting: {
        groups: [
          { name: 'start', test: (id) => id === START, priority: 3 },
          { name: 'contract', test: (id) => id === CONTRACT, priority: 2 },
          { name: 'run', test: (id) => id === RUN, priority: 1 },
        ],
      },
    },
  }
  const jqWorker = {
    input: { 'chunks/jq-worker': src('cli/output/jq-worker.cjs') },
    output: { format: 'cjs', entryFileNames: '[name].cjs' },
  }
  const libraries = {
    input: { 'client/index': src('client/index.ts'), 'secure/index': src('secure/index.ts') },
    output: { format: 'esm', chunkFileNames: 'chunks/[name].js' },
  }
  // For other servers: a single file that loads only node:crypto.
  const verifier = { input: { 'webhook/index': src('webhook/index.ts') }, output: { format: 'esm' } }
  const programs = await Promise.all(
    [commandLine, jqWorker, libraries, verifier].map(async ({ input, output }) => {
      const built = await build({
        input,
        platform: 'node',
        plugins: [withoutChildProcess],
        // Native code cannot be bundled.
        external: ['@photostructure/sqlite'],
        transform: { target: 'node20.19' },
        output: { ...output, dir: outdir, minify: true, comments: false },
      })
      return Object.fromEntries(built.output.map((file) => [file.fileName, contentsOf(file)]))
    }),
  )
  copyJq(join(outdir, 'chunks/build'))
  return programs
}

const contentsOf = ({ moduleIds, imports, dynamicImports }) => ({
  modules: moduleIds.filter((id) => id.startsWith(root)).map((id) => id.slice(root.length)),
  loads: [...imports, ...dynamicImports].filter((name) => name.endsWith('.cjs')),
})

/** Commander imports node:child_process for subcommands that are separate programs; no command is, and loading takes 5 ms. */
const withoutChildProcess = {
  name: 'without-child-process',
  resolveId: (id, importer) =>
    id === 'node:child_process' && /[\\/]commander[\\/]/.test(importer) ? NO_MODULE : undefined,
  load: (id) => (id === NO_MODULE ? 'export {}' : undefined),
}

/** Copies jq next to its worker, where jq-wasm looks for it; only --jq loads it. */
function copyJq(folder) {
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(dirname(require.resolve('jq-wasm/jq.wasm')), 'jq.wasm'), join(folder, 'jq.wasm'))
}
