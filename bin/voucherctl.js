#!/usr/bin/env node
// CommonJS (bin/package.json says so): an ES module as the entry costs 4 ms more on Node 20.
const version = () => require('../package.json').version
const document = (path) => require('node:fs').readFileSync(require('node:path').join(__dirname, '..', path), 'utf8')

const words = process.argv.slice(2)
const text = words.length === 1 && words[0] === '--version' ? `${version()}\n` : helpPage()
if (text === undefined) {
  // Node 22.1 and later keep compiled code between runs.
  // require('node:module') would load Node's ES module loader, which takes 2 ms.
  module.constructor.enableCompileCache?.()
  require('../dist/cli/main.cjs').main(version, document)
} else {
  print(text)
}

/**
 * The help page that the build stored for these words; undefined for other words, for JSON, and on Windows, whose console
 * takes text only from process.stdout.
 */
function helpPage() {
  if (words.at(-1) !== '--help' || process.env.VOUCHERCTL_OUTPUT || process.platform === 'win32') return undefined
  const pages = require('../dist/help.json')
  const isForAgent = words.length === 1 && pages.agentVariables.some((it) => process.env[it])
  return pages[isForAgent ? 'firstForAgents' : words.join('\0')]
}

/**
 * Prints the version or a page before loading anything: scripts ask for the version at every start, and loading
 * process.stdout takes 5 ms.
 */
function print(text) {
  const bytes = Buffer.from(text)
  let written = 0
  try {
    written = require('node:fs').writeSync(1, bytes)
  } catch (error) {
    if (error.code !== 'EAGAIN') return report(error)
  }
  if (written < bytes.length) process.stdout.on('error', report).write(bytes.subarray(written))
}

/** As in every command, a closed pipe is not a failure, but a full disk is. */
function report({ code }) {
  if (code === 'EPIPE') return
  process.exitCode = 1
  process.stderr.write(`error: The result cannot be written to standard output (${code}). (FILE_UNWRITABLE)\n`)
}
