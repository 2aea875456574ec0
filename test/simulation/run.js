// node test/simulation/run.js [--seed N] [--count N] [--actions N] runs simulations; README.md of this folder describes them.
import { rmSync } from 'node:fs'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { bundleSimulation } from './bundle.js'

const file = await bundleSimulation('main', 'simulation')
process.once('exit', () => rmSync(file))
await import(pathToFileURL(file).href)
