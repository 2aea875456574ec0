// Child process with a server; argv: data folder, port of the webhook receiver or 0, and the
// URL of a PostgreSQL store. Logs go to stderr at the default level.
import process from 'node:process'
import { startServer } from '../../../src/server/listen.js'
import { underTest } from './under-test.js'

const [, , dataDir, receiverPort = '0', databaseUrl] = process.argv
const webhookLoopbackPorts = receiverPort === '0' ? [] : [Number(receiverPort)]
const database = databaseUrl === undefined ? {} : { databaseUrl }
const server = await startServer({ dataDir, port: 0, rateLimits: 'off', webhookLoopbackPorts, ...database })
underTest({ baseUrl: server.baseUrl, operatorKeyFile: server.operatorKeyFile }, () => server.close())
