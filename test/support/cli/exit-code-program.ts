import process from 'node:process'
import { startPostgres } from '../postgres/server.js'

const server = await startPostgres()
await server.remove()
process.exitCode = 3
