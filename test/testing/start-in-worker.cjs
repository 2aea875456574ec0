// Starts servers in a worker thread or a child process, reports their addresses, and closes them on a message.
const { parentPort } = require('node:worker_threads')
const { startServer } = require('../../dist/testing/index.cjs')

const port = parentPort ?? process

async function main() {
  const servers = await Promise.all(Array.from({ length: 3 }, () => startServer()))
  const results = await Promise.all(servers.map((it) => it.client.templates.list()))
  const report = { urls: servers.map((it) => it.baseUrl), failures: results.filter((it) => !it.ok) }
  port.once('message', async () => {
    await Promise.all(servers.map((it) => it.close()))
    if (port === process) process.disconnect()
  })
  if (port === process) process.send(report)
  else port.postMessage(report)
}

void main()
