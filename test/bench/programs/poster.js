// Child process, the references of P9: undici posts bodies one after another on each keep-alive connection, without
// signature, DNS lookup or database. A job: { port, connections, bodies, count }; the bodies are used in order.
import process from 'node:process'
import { Pool } from 'undici'

process.on('message', async ({ port, connections, bodies, count }) => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 })
  const buffers = bodies.map((body) => Buffer.from(body))
  let sent = 0
  const post = async () => {
    while (sent < count) {
      const body = buffers[sent++ % buffers.length]
      const headers = { 'content-type': 'application/json' }
      const response = await pool.request({ method: 'POST', path: '/hook', headers, body })
      await response.body.dump()
      if (response.statusCode !== 200) throw new Error(`the receiver returned ${response.statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, post))
  await pool.close()
  process.send({ posted: count })
})
process.on('disconnect', () => process.exit())
