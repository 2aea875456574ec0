// npm run faults [-- --quick] [--seed N] [--only R1,R5]: README.md of this folder says what each campaign does.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))
const built = spawnSync(process.execPath, [join(root, 'src', 'build.js'), '--if-changed'], { stdio: 'inherit' })
if (built.status !== 0) process.exit(1)

// Below node_modules, where native packages are found from.
const folder = join(root, 'node_modules', '.cache', 'faults')
const outfile = join(folder, `main-${process.pid}.mjs`)
mkdirSync(folder, { recursive: true })
process.once('exit', () => rmSync(outfile, { force: true }))
await build({
  entryPoints: [join(root, 'test', 'faults', 'main.ts')],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20.19',
  packages: 'external',
  logLevel: 'error',
})
const { main } = await import(pathToFileURL(outfile).href)
process.exitCode = await main(process.argv.slice(2), root)
