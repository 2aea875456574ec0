// Child process, the reference of benchmark P14 (README.md): a node:http server that reads the body and returns 200.
import { createServer } from 'node:http'
import process from 'node:process'

const server = createServer((request, response) => {
  request.on('data', () => {})
  request.on('end', () => response.writeHead(200, { 'Content-Length': 0 }).end())
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
