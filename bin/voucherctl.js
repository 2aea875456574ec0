#!/usr/bin/env node
// CommonJS (bin/package.json says so): an ES module as the entry costs 4 ms more on Node 20.
const version = () => require('../package.json').version
const document = (path) => require('node:fs').readFileSync(require('node:path').join(__dirname, '..', path), 'utf8')

// Print the version before loading anything: scripts ask for it at every start, and loading process.stdout takes 5 ms.
if (process.argv.length === 3 && process.argv[2] === '--version') {
  try {
    require('node:fs').writeSync(1, `${version()}\n`)
  } catch ({ code }) {
    // As in every command, a closed pipe is not a failure, but a full disk is.
    if (code !== 'EPIPE') {
      process.exitCode = 1
      process.stderr.write(`error: The result cannot be written to standard output (${code}).\n`)
    }
  }
} else {
  // Node 22.1 and later keep compiled code between runs.
  // require('node:module') would load Node's ES module loader, which takes 2 ms.
  module.constructor.enableCompileCache?.()
  require('../dist/cli/main.cjs').main(version, document)
}
