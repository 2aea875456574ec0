// Bundles everything that dist/ ships. The command line and the server that it starts are one program of CommonJS files:
// Node 20 takes 5 ms to start its loader of ES modules, and a millisecond for each file. Whatever is imported on demand
// is a file of its own, and each module is in one file only: two copies of a class are two classes.
import { copyFileSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

const root = fileURLToPath(new URL('..', import.meta.url))
const src = (path) => join(root, 'src', path)
const require = createRequire(import.meta.url)

/** What every start loads, and what every command adds to it: one file each, since each file costs time. */
const START = src('cli/main.ts')
const RUN = src('cli/execute.ts')
const NO_MODULE = '\0no-module'

/**
 * @param outdir receives cli/, server/, chunks/ and the libraries
 * @returns for each program its files, with the modules in them and the files that they load
 */
export async function bundle(outdir) {
  const commandLine = {
    input: { 'cli/main': START, 'server/listen': src('server/listen.ts') },
    output: {
      format: 'cjs',
      // import() would start the loader of ES modules after all.
      dynamicImportInCjs: false,
      entryFileNames: '[name].cjs',
      chunkFileNames: 'chunks/[name].cjs',
      // A group includes the static imports of its module; the higher priority gets what both import.
      codeSplitting: {
        groups: [
          { name: 'start', test: (id) => id === START, priority: 2 },
          { name: 'run', test: (id) => id === RUN, priority: 1 },
        ],
      },
    },
  }
  const jqWorker = {
    input: { 'chunks/jq-worker': src('cli/jq-worker.cjs') },
    output: { format: 'cjs', entryFileNames: '[name].cjs' },
  }
  const libraries = {
    input: { 'client/index': src('client/index.ts'), 'secure/index': src('secure/index.ts') },
    output: { format: 'esm', chunkFileNames: 'chunks/[name].js' },
  }
  // Others put it into their own servers: one file that loads node:crypto and nothing else.
  const verifier = { input: { 'webhooks/index': src('webhooks/index.ts') }, output: { format: 'esm' } }
  const programs = await Promise.all(
    [commandLine, jqWorker, libraries, verifier].map(async ({ input, output }) => {
      const built = await build({
        input,
        platform: 'node',
        plugins: [withoutChildProcess],
        // Native code cannot be bundled.
        external: ['better-sqlite3'],
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

/** jq itself: a file beside its worker, where jq-wasm looks for it, so that only --jq reads it. */
function copyJq(folder) {
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(dirname(require.resolve('jq-wasm/jq.wasm')), 'jq.wasm'), join(folder, 'jq.wasm'))
}
