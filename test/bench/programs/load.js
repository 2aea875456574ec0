// Child process that generates load with raw sockets and prebuilt requests, to leave the CPU to the server.
// A job is { ports, connections, requests, count, capture? }. Each connection sends its next request after the
// response to the previous one. Requests are sent in order, and again from the first if there are fewer than `count`.
// `capture` is a regular expression; the process returns its first group from every response body.
import { once } from 'node:events'
import { connect } from 'node:net'
import process from 'node:process'

process.on('message', async (job) => process.send(await run(job)))
process.on('disconnect', () => process.exit())

async function run({ ports, connections, requests, count, capture }) {
  const buffers = requests.map((request) => Buffer.from(request, 'latin1'))
  const sockets = await Promise.all(Array.from({ length: connections }, (_, n) => open(ports[n % ports.length])))
  const bodies = []
  const refused = new Map()
  let sent = 0
  let responses = 0

  const cpuBefore = process.cpuUsage()
  const startedAt = process.hrtime.bigint()
  await new Promise((resolve, reject) => {
    for (const socket of sockets) {
      let held = ''
      const next = () => {
        if (sent < count) socket.write(buffers[sent++ % buffers.length])
      }
      socket.on('data', (chunk) => {
        held = held === '' ? chunk.latin1Slice() : held + chunk.latin1Slice()
        const headerEnd = held.indexOf('\r\n\r\n')
        if (headerEnd === -1) return
        const lengthAt = held.indexOf('ontent-length: ') + 15
        const length = Number.parseInt(held.slice(lengthAt, lengthAt + 8), 10)
        if (held.length < headerEnd + 4 + length) return
        const status = held.slice(9, 12)
        if (status.charCodeAt(0) !== 0x32) refused.set(status, held.slice(headerEnd + 4))
        if (capture !== undefined) bodies.push(held)
        held = ''
        responses += 1
        if (responses === count) resolve()
        else next()
      })
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('the server closed a connection')))
      next()
    }
  })
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9
  const cpu = process.cpuUsage(cpuBefore)
  for (const socket of sockets) socket.removeAllListeners('close').destroy()
  const pattern = capture === undefined ? null : new RegExp(capture)
  return {
    perSecond: count / seconds,
    /** Share of one core that this process used. Near 1, the load generator was too slow for the server. */
    generatorBusy: (cpu.user + cpu.system) / 1e6 / seconds,
    refused: [...refused],
    captured: pattern === null ? [] : bodies.map((body) => pattern.exec(body)?.[1]),
  }
}

async function open(port) {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  await once(socket, 'connect')
  return socket
}
