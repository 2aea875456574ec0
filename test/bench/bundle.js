import { build } from 'esbuild'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Everything that a run writes, beside bench.json. */
export const cache = join(root, 'node_modules', '.cache', 'bench')

/**
 * Bundles an entry of this folder, TypeScript imports included, with the settings of the published bundle.
 * @returns {Promise<string>} path of the bundle
 */
export async function bundle(name) {
  mkdirSync(cache, { recursive: true })
  const outfile = join(cache, `${name}.mjs`)
  await build({
    entryPoints: [fileURLToPath(new URL(`${name}.js`, import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    external: ['better-sqlite3'],
    // fastify and pino are CommonJS inside and call require.
    banner: { js: `import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);` },
    logLevel: 'error',
  })
  return outfile
}
