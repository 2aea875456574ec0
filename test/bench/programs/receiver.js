// Child process, the receiver of P9 and the reference of P14: a node:http server that reads the body and returns 200. A
// job is { count }; the process reports the rate after `count` requests.
import { createServer } from 'node:http'
import process from 'node:process'

let job
const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    response.writeHead(200, { 'content-length': 0 }).end()
    received()
  })
})

function received() {
  if (job === undefined) return
  const now = process.hrtime.bigint()
  job.first ??= now
  job.received += 1
  if (job.received < job.count) return
  const seconds = Number(now - job.first) / 1e9
  const { user, system } = process.cpuUsage(job.cpu)
  process.send({ perSecond: (job.count - 1) / seconds, busy: (user + system) / 1e6 / seconds })
  job = undefined
}

process.on('message', ({ count }) => {
  job = { count, received: 0, cpu: process.cpuUsage() }
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
