// Keeps the compiled code of one command's run, whose functions are then there for every command, or with --server that
// of a server's start and end (Node 20 only).
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import process from 'node:process'

const require = createRequire(new URL('../../bin/voucherctl.js', import.meta.url))
const { cacheFileOf, scripts } = require('./code-cache.js')

process.on('exit', () => {
  for (const [filename, script] of scripts) {
    const cacheFile = cacheFileOf(filename)
    mkdirSync(dirname(cacheFile), { recursive: true })
    writeFileSync(cacheFile, script.createCachedData())
  }
})
if (process.argv[2] === '--server') {
  const { startServer } = require('../../dist/server/listen.cjs')
  startServer({ memory: true, port: 0, logLevel: 'silent' }).then((server) => server.close())
} else {
  require('../../dist/cli/main.cjs').main(() => '')
}
