import { createSocket } from 'node:dgram'
import { getEventListeners, once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLookup } from '../../../src/server/delivery/guard.js'

type DnsResponse = readonly string[] | 'NXDOMAIN' | 'SERVFAIL' | 'silence'
const codes = { SERVFAIL: 2, NXDOMAIN: 3 }
const types: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' }

/** Starts a name server with the given A and AAAA responses that lists the queries that it receives. */
async function nameServer(responses: (type: 'A' | 'AAAA', name: string) => DnsResponse) {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, { port, address }) => {
    const labels: string[] = []
    let at = 12
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length))
      at += 1 + length
    }
    const type = types[query.readUInt16BE(at + 1)] ?? 'A'
    const name = labels.join('.')
    asked.push(`${type} ${name}`)
    const response = responses(type, name)
    if (response === 'silence') return
    const records = typeof response === 'string' ? [] : response
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(0x8180 | (typeof response === 'string' ? codes[response] : 0), 2)
    head.writeUInt16BE(records.length, 6)
    head.writeUInt32BE(0, 8)
    const question = query.subarray(12, at + 5)
    const data = records.map((record) => {
      const bytes = Buffer.from(type === 'A' ? record.split('.').map(Number) : Buffer.from(record, 'hex'))
      const fixed = Buffer.from([0xc0, 12, 0, type === 'A' ? 1 : 28, 0, 1, 0, 0, 0, 60, 0, bytes.length])
      return Buffer.concat([fixed, bytes])
    })
    socket.send(Buffer.concat([head, question, ...data]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  onTestFinished(() => {
    socket.close()
  })
  return { asked, lookup: createLookup({ servers: [`127.0.0.1:${socket.address().port}`] }) }
}

const ipv6 = `26064700${'0'.repeat(23)}1`
const { signal } = new AbortController()

describe('DNS lookup', () => {
  it('DNS lookup returns all A and AAAA records, queried once and without a search domain', async () => {
    const { asked, lookup } = await nameServer((type) => (type === 'A' ? ['93.184.216.34', '127.0.0.1'] : [ipv6]))
    expect(await lookup('hooks.example.com', signal)).toEqual(['93.184.216.34', '127.0.0.1', '2606:4700::1'])
    expect(asked.sort()).toEqual(['A hooks.example.com', 'AAAA hooks.example.com'])
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('DNS lookup without given servers uses the servers of the system', async () => {
    const stop = new AbortController()
    const looked = createLookup()('hooks.invalid', stop.signal)
    stop.abort()
    await expect(looked).rejects.toThrow('ECANCELLED')
  })

  it('DNS lookup returns a changed record immediately, whatever its TTL', async () => {
    const addresses = ['93.184.216.34', '127.0.0.1']
    const { lookup } = await nameServer((type) => (type === 'A' ? [addresses.shift() ?? ''] : []))
    expect(await lookup('hooks.example.com', signal)).toEqual(['93.184.216.34'])
    expect(await lookup('hooks.example.com', signal)).toEqual(['127.0.0.1'])
  })

  it('DNS lookup returns the addresses of one IP version if the name has none of the other', async () => {
    const { lookup } = await nameServer((type) => (type === 'A' ? [] : [ipv6]))
    expect(await lookup('hooks.example.com', signal)).toEqual(['2606:4700::1'])
  })

  it('DNS lookup of an unknown name returns no addresses', async () => {
    const { lookup } = await nameServer(() => 'NXDOMAIN')
    expect(await lookup('hooks.example.com', signal)).toEqual([])
  })

  it('DNS lookup fails if the A or the AAAA query fails', async () => {
    const { lookup } = await nameServer((type) => (type === 'A' ? ['93.184.216.34'] : 'SERVFAIL'))
    await expect(lookup('hooks.example.com', signal)).rejects.toThrow('ESERVFAIL')
  })

  it('DNS lookup rejects when its caller aborts it', async () => {
    const stop = new AbortController()
    const { lookup } = await nameServer(() => {
      stop.abort()
      return 'silence'
    })
    await expect(lookup('hooks.example.com', stop.signal)).rejects.toThrow('ECANCELLED')
  })
})
