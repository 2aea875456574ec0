// jq in a thread of its own: a filter without end is stopped by Ctrl-C, and one that runs out of memory ends nothing
// else. Plain CommonJS, so that the same file runs from the source and in the bundle.
const { parentPort } = require('node:worker_threads')
const { loadJq } = require('jq-wasm')

const loaded = loadJq()

parentPort.on('message', async ({ expression, input }) => {
  const jq = await loaded
  const text = typeof input === 'string' ? input : Buffer.from(input).toString()
  // After -- an expression may begin with a minus.
  parentPort.postMessage(jq.raw(text, expression, ['-c', '--']))
})
