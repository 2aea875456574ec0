import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Folder to which a benchmark run writes everything except bench.json. */
export const cache = join(root, 'node_modules', '.cache', 'bench')

/**
 * Bundles a script of programs/ and its TypeScript imports with the settings of the published bundle.
 * @returns {Promise<string>} path of the bundle
 */
export async function bundle(name) {
  mkdirSync(cache, { recursive: true })
  const outfile = join(cache, `${name}.mjs`)
  await build({
    input: fileURLToPath(new URL(`programs/${name}`, import.meta.url)),
    platform: 'node',
    external: ['@photostructure/sqlite'],
    transform: { target: 'node20.19' },
    output: { file: outfile, format: 'esm', codeSplitting: false },
  })
  return outfile
}
