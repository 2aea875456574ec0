// The receiver of P9, a process of its own: raw sockets, an answer of one write, so that it costs little beside who
// posts. A job: { count }: answers when as many requests have come, with the rate between the first and the last.
import { createServer } from 'node:net'
import process from 'node:process'

const OK = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')

let job
const server = createServer((socket) => {
  let held = ''
  socket.setNoDelay(true)
  socket.on('data', (chunk) => {
    held = held === '' ? chunk.latin1Slice() : held + chunk.latin1Slice()
    for (;;) {
      const headEnd = held.indexOf('\r\n\r\n')
      if (headEnd === -1) return
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(held.slice(0, headEnd))?.[1] ?? 0)
      const end = headEnd + 4 + length
      if (held.length < end) return
      held = held.slice(end)
      socket.write(OK)
      received()
    }
  })
  socket.on('error', () => {})
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
