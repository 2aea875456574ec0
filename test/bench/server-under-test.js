// Runs as a process of its own: argv is the data folder and, where deliveries are measured, the receiver's port. Logs go to stderr at the default level.
import process from 'node:process'
import { startServer } from '../../src/server/listen.js'
import { underTest } from './under-test.js'

const [, , dataDir, receiverPort] = process.argv
const webhookLoopbackPorts = receiverPort === undefined ? [] : [Number(receiverPort)]
const server = await startServer({ dataDir, port: 0, rateLimits: 'off', webhookLoopbackPorts })
underTest({ baseUrl: server.baseUrl, operatorKeyFile: server.operatorKeyFile }, () => server.close())
