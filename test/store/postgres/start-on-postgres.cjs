// Starts a server on PostgreSQL in a child process, reports that it is ready, and closes it on a message `close`.
const { startServer } = require('../../../dist/testing/index.cjs')

startServer({ databaseUrl: process.argv[2] }).then((server) => {
  process.once('message', async (message) => {
    if (message === 'close') await server.close()
    process.disconnect()
  })
  process.send('ready')
})
