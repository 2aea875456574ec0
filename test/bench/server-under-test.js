// Runs as a process of its own: argv is the data folder. Logs go to stderr at the default level.
import process from 'node:process'
import { startServer } from '../../src/server/listen.js'
import { underTest } from './under-test.js'

const server = await startServer({ dataDir: process.argv[2], port: 0, rateLimits: 'off' })
underTest({ baseUrl: server.baseUrl, operatorKeyFile: server.operatorKeyFile }, () => server.close())
