#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'

const version = () => JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version

// Answered before anything is loaded: scripts ask for it at every start.
if (process.argv.length === 3 && process.argv[2] === '--version') {
  process.stdout.write(`${version()}\n`)
} else {
  // Node 22.1 and later keep compiled code between runs.
  nodeModule.enableCompileCache?.()
  const { main } = await import('../dist/cli/main.js')
  await main(version)
}
