// Node 20 keeps no compiled code between runs: the build has made some of the command line, for the V8 that it ran on.
// Without it, or with another V8, everything is compiled as usual. Node 22 has a compile cache of its own.
const { readFileSync } = require('node:fs')
const { join, relative } = require('node:path')
const { Script } = require('node:vm')

const dist = join(__dirname, '../dist')
const cache = join(dist, 'code-cache')

// require('node:module') would load Node's ES module loader, which takes 2 ms.
const Module = module.constructor

/** Where the compiled code of a file of dist/ lies. */
const cacheFileOf = (filename) => join(cache, `${process.versions.v8}-${process.arch}`, relative(dist, filename))

/** What was compiled in this run, by file. */
const scripts = new Map()

Module._extensions['.cjs'] = (module, filename) => {
  let cachedData
  try {
    cachedData = readFileSync(cacheFileOf(filename))
  } catch {}
  const script = new Script(Module.wrap(readFileSync(filename, 'utf8')), { filename, cachedData })
  scripts.set(filename, script)
  const run = script.runInThisContext()
  run.call(module.exports, module.exports, Module.createRequire(filename), module, filename, join(filename, '..'))
}

module.exports = { cacheFileOf, scripts }
