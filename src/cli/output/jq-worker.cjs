// Runs jq in a thread, so that Ctrl-C stops an endless filter and running out of memory ends only the thread.
// It is CommonJS without TypeScript, so that one file serves both the source tree and the bundle.
const { parentPort } = require('node:worker_threads')
const { loadJq } = require('jq-wasm')

const loaded = loadJq().catch(() => undefined)

parentPort.on('message', async ({ expression, input }) => {
  const jq = await loaded
  if (jq === undefined) return parentPort.postMessage('not started')
  const text = typeof input === 'string' ? input : Buffer.from(input).toString()
  // After -- an expression may start with a minus.
  parentPort.postMessage(jq.raw(text, expression, ['-c', '--']))
})
