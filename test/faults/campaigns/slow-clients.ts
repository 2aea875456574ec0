import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { contract } from '../../../src/contract/index.js'
import type { Campaign, Run } from '../campaign.js'
import { clerks } from '../clients.js'
import { breachesOf } from '../invariants.js'
import { memoryOf } from '../server.js'
import { startWithTenant } from '../server-with-tenant.js'

const HONEST_CLIENTS = 8
/** Memory limits: V8 frees the memory of flood requests slowly (360 MiB used after 30 floods, 970 MiB after 200). */
const MEMORY_MIB_MAX = { short: 500, long: 1_200 }
/** Limit: the server allows 15 s for a request, checks every 2 s and reads for 5 s after the refusal. */
const ENDED_MS_MAX = 25_000
/** Extra time because slow clients start late on a busy machine. */
const LATE_MS_MAX = 15_000
const DRIP_MS = 200

const HEAD = `POST ${contract.vouchers.verify.path} HTTP/1.1\r\nHost: slow\r\nContent-Type: application/json\r\n`

/**
 * Opens a connection that sends a text byte by byte until the server closes it.
 * @param onRefused called when the server refuses the incomplete request
 */
function drip(port: number, text: string, onRefused: () => void): Socket {
  const socket = connect({ port, host: '127.0.0.1' })
  let sent = 0
  const timer = setInterval(() => socket.write(text.charAt(sent++) || 'x'), DRIP_MS)
  socket.on('error', () => {})
  socket.once('close', () => clearInterval(timer))
  socket.on('data', (chunk: Buffer) => {
    if (chunk.includes('INVALID_JSON')) onRefused()
  })
  return socket
}

/** Opens a connection that sends requests continuously and reads no response. */
function deaf(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' })
  const requests = 'GET /healthz HTTP/1.1\r\nHost: deaf\r\n\r\n'.repeat(100)
  const ask = () => {
    while (socket.writable && socket.writableLength < 1024 * 1024 && socket.write(requests));
  }
  socket.on('connect', ask).on('drain', ask)
  socket.on('error', () => {})
  return socket.pause()
}

export const slowClients: Campaign = {
  row: 'R13',
  name: 'slow clients: headers and bodies byte by byte, responses never read',
  tags: ['connections/2'],
  requirement: 'Connections send byte by byte, or never read. Other clients get all responses.',
  states: [
    'the server closed a connection with a slow head',
    'the server closed a connection with a slow body',
    'the server refused an incomplete request',
    'the server closed a connection whose responses were not read',
    'a client had a response while slow connections were open',
  ],

  async run(run: Run) {
    const { quick, random, folder, sometimes } = run
    const { server, first, templateId, callLog, dataDir } = await startWithTenant(run)
    const broken: string[] = []
    const each = quick ? 30 : 200
    const make = (one: () => Socket) => Array.from({ length: each }, one)
    const refused = () => sometimes.note('the server refused an incomplete request')
    const heads = make(() => drip(server.port, HEAD, refused))
    const deafOnes = make(() => deaf(server.port))
    // Send the head in one piece, so that only the body is slow.
    const bodies = make(() => {
      const socket = drip(server.port, '{"credential":'.padEnd(5_000), refused)
      socket.write(`${HEAD}Content-Length: 5000\r\n\r\n`)
      return socket
    })
    const open = () => [...heads, ...bodies].filter((it) => !it.closed).length
    const until = performance.now() + (quick ? 5_000 : ENDED_MS_MAX)
    let responses = 0
    await clerks(HONEST_CLIENTS, {
      tenant: first,
      callLog,
      random,
      name: 'h',
      templateIds: [templateId],
      shouldContinue: () => performance.now() < until,
      onResponse({ status, text }) {
        responses += 1
        if (open() === heads.length + bodies.length)
          sometimes.note('a client had a response while slow connections were open')
        if (status >= 300) broken.push(`an honest client got ${status} ${text}`)
      },
    })
    const mib = memoryOf(server.pid) ?? 0
    const mibMax = quick ? MEMORY_MIB_MAX.short : MEMORY_MIB_MAX.long
    if (mib > mibMax) broken.push(`the server took ${mib} MiB, more than ${mibMax}`)
    if (callLog.unresolved().length > 0) broken.push(`${callLog.unresolved().length} honest calls had no response`)
    const late = performance.now() + LATE_MS_MAX
    while (!quick && open() > 0 && performance.now() < late) await wait(100)
    if (!quick && open() > 0)
      broken.push(`${open()} slow connections are open after ${ENDED_MS_MAX / 1_000} s and more`)
    const isClosed = (it: Socket) => it.closed
    sometimes.note('the server closed a connection with a slow head', heads.filter(isClosed).length)
    sometimes.note('the server closed a connection with a slow body', bodies.filter(isClosed).length)
    sometimes.note('the server closed a connection whose responses were not read', deafOnes.filter(isClosed).length)
    for (const socket of [...heads, ...bodies, ...deafOnes]) socket.destroy()
    await wait(0)
    await server.stop()
    broken.push(...breachesOf(dataDir, folder, callLog))
    const count = heads.length + bodies.length + deafOnes.length
    return { facts: { 'slow connections': count, 'honest responses': responses, 'memory MiB': mib }, broken }
  },
}
