// npm run faults [-- --quick] [--seed N] [--only R1,R5] [--shard 1/2] runs fault campaigns; README.md of this folder describes them.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildPackage, bundleProgram } from '../support/build/bundle.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
buildPackage()

const file = await bundleProgram(join(root, 'test', 'faults', 'main.ts'), 'faults')
process.once('exit', () => rmSync(file))
const { main } = await import(pathToFileURL(file).href)
process.exitCode = await main(process.argv.slice(2), root)
