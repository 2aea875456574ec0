import { connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { allProbes } from '../../src/conform/probes/index.js'
import { useReference } from '../support/conform/conform.js'
import { listen } from '../support/listen.js'

/** What a proxy changes in the bytes of a connection. */
interface Changes {
  sent?(bytes: string): string
  /** All bytes that the server sent until it closed the connection. */
  received?(bytes: string, sent: string): string
  /** Set to destroy a connection whose client closes its side. */
  readonly needsBothSides?: true
  /** Set to leave a connection open after a refusal. */
  readonly staysOpen?: true
}

const reference = useReference()

/** Starts a proxy before the reference that changes the bytes of connections; returns its address. */
async function proxyWith({ sent = (it) => it, received = (it) => it, ...changes }: Changes): Promise<string> {
  const port = Number(new URL(reference.baseUrl).port)
  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let request = ''
    let response = ''
    client.setEncoding('latin1')
    server.setEncoding('latin1')
    client.on('data', (bytes: string) => {
      request += bytes
      server.write(sent(bytes), 'latin1')
    })
    client.on('end', () => (changes.needsBothSides ? client.destroy() : server.end()))
    server.on('data', (bytes: string) => {
      response += bytes
    })
    server.on('end', () => {
      client.write(received(response, request), 'latin1')
      if (!changes.staysOpen) client.end()
      server.end()
    })
    for (const socket of [client, server]) socket.on('error', () => {})
    client.on('close', () => server.destroy())
  })
  return `http://127.0.0.1:${await listen(proxy)}`
}

const isHttp = (sent: string) => !sent.includes('conform\r\n\r\n')
const second = (bytes: string) => bytes.indexOf('HTTP/1.1 ', 1)

const deviants: readonly (readonly [probe: string, changes: Changes])[] = [
  [
    'order-of-responses',
    {
      received: (bytes, sent) =>
        sent.split('GET ').length < 4 ? bytes : bytes.slice(second(bytes)) + bytes.slice(0, second(bytes)),
    },
  ],
  ['not-http', { received: (bytes, sent) => (isHttp(sent) ? bytes : bytes.replace('HTTP/1.1 400', 'HTTP/1.1 404')) }],
  ['close-after-a-refusal', { staysOpen: true }],
  [
    'refusal-after-responses',
    { received: (bytes, sent) => (isHttp(sent) ? bytes : bytes.slice(Math.max(0, second(bytes)))) },
  ],
  ['headers-too-large', { received: (bytes) => bytes.replace('HTTP/1.1 413', 'HTTP/1.1 431') }],
  ['closed-side', { needsBothSides: true }],
  [
    'two-authorization-headers',
    { sent: (bytes) => bytes.replace(/(authorization: .*\r\n)authorization: .*\r\n/i, '$1') },
  ],
]

/** A connection that stays open takes seconds: only the probe that looks for its end runs then. */
const all = allProbes.map(({ id }) => id).filter((id) => id.startsWith('connections/'))

test.each(deviants)('a server that deviates in connections/%s is reported for it alone', async (name, changes) => {
  const baseUrl = await proxyWith(changes)
  const only = changes.staysOpen ? [`connections/${name}`] : all
  const { results } = await reference.run({ only, baseUrl })
  expect(results.filter(({ result }) => result === 'differs').map(({ probe }) => probe)).toEqual([
    `connections/${name}`,
  ])
})
