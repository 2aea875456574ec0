// Server program that child.ts starts: prints the address of the server and closes it on SIGTERM.
const { startServer } = require('../../../dist/chunks/listen.cjs')

const [dataDir, logLevel, loopbackPort, databaseUrl] = process.argv.slice(2)
const webhookLoopbackPorts = loopbackPort === '0' ? [] : [Number(loopbackPort)]
const where = databaseUrl === undefined ? { testClock: true } : { databaseUrl }
startServer({ port: 0, dataDir, logLevel, rateLimits: 'off', webhookLoopbackPorts, ...where }).then((server) => {
  process.once('SIGTERM', () => server.close())
  process.stdout.write(`${JSON.stringify(server)}\n`)
})
