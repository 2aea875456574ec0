import { connect } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Connection } from '../../../src/server/delivery/connection.js'
import { AttemptLimit } from '../../../src/server/delivery/errors.js'
import { checkUrl } from '../../../src/server/delivery/guard.js'
import { IdleConnections } from '../../../src/server/delivery/sender.js'
import { hooksExampleCom } from './certificates.js'
import { ended, httpReceiver, internet, publicAddress, rawReceiver, senderFor, tlsReceiver } from './delivering.js'

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** Sends one delivery to the URL and returns its connection. */
async function postOnce(url: string) {
  const checked = checkUrl(url, { loopbackPorts: new Set([Number(new URL(url).port)]) })
  if (!checked.ok) throw new Error(checked.reason)
  const connection = new Connection(checked.url.origin, '127.0.0.1', {
    connectTcp: (host, port) => connect({ host, port }),
    ca: undefined,
  })
  const limit = new AttemptLimit(5_000)
  const body = Buffer.from('{"update_id":1}')
  const exchange = await connection.post({ checked, headers: {}, body, limit, connectTimeoutMs: null })
  limit.release()
  return { connection, exchange }
}

describe('webhook connection', () => {
  it('webhook connection is reused for the next delivery to the same URL', async () => {
    const { send, url, connections } = await httpReceiver((_request, response) => response.end('ok'))
    for (let delivery = 0; delivery < 5; delivery++) {
      expect(await send(`${url}/${delivery}`)).toMatchObject({ error: null })
    }
    expect(connections).toHaveLength(1)
  })

  it('webhook connection over TLS is reused for the next delivery', async () => {
    const { port, connections } = await tlsReceiver(hooksExampleCom)
    const { send } = senderFor({ ...internet(port).options, lookup: async () => [publicAddress] })
    for (let delivery = 0; delivery < 5; delivery++) {
      expect(await send('https://hooks.example.com/')).toMatchObject({ error: null })
    }
    expect(connections).toHaveLength(1)
  })

  it('webhook connection is reused after a failed delivery with a complete response', async () => {
    const { send, url, connections } = await httpReceiver((_request, response) => response.writeHead(500).end())
    for (let delivery = 0; delivery < 3; delivery++) await send(url)
    expect(connections).toHaveLength(1)
  })

  it('webhook connection carries one delivery at a time', async () => {
    const waiting: (() => void)[] = []
    const { send, url, connections } = await httpReceiver((_request, response) => {
      waiting.push(() => response.end())
      if (waiting.length === 8) for (const respond of waiting.splice(0)) respond()
    })
    await Promise.all(Array.from({ length: 8 }, () => send(url)))
    expect(connections).toHaveLength(8)
    const again = Array.from({ length: 8 }, () => send(url))
    expect((await Promise.all(again)).every(({ error }) => error === null)).toBe(true)
    expect(connections).toHaveLength(8)
  })

  it('webhook connection is not shared between origins, ports or addresses', async () => {
    const { port } = await tlsReceiver(hooksExampleCom)
    const { dialled, options } = internet(port)
    let address = publicAddress
    const { send } = senderFor({ ...options, lookup: async () => [address] })
    for (let round = 0; round < 2; round++) {
      for (address of [publicAddress, '2606:4700::1']) {
        for (const url of ['https://hooks.example.com/', 'https://hooks.example.com:8443/']) await send(url)
      }
    }
    expect(dialled).toEqual([`${publicAddress} 443`, `${publicAddress} 8443`, '2606:4700::1 443', '2606:4700::1 8443'])
  })

  it('webhook connection is not reused after Connection: close', async () => {
    const { send, url, connections } = await httpReceiver((_request, response) =>
      response.writeHead(200, { connection: 'close' }).end(),
    )
    for (let delivery = 0; delivery < 3; delivery++) expect(await send(url)).toMatchObject({ error: null })
    expect(connections).toHaveLength(3)
  })

  it('webhook delivery opens a new connection if the receiver closed the idle one', async () => {
    const { send, url, connections } = await rawReceiver((socket) => void socket.write(ok))
    for (let delivery = 0; delivery < 3; delivery++) {
      expect(await send(url)).toMatchObject({ error: null })
      connections.at(-1)?.end()
      await ended(connections.at(-1))
    }
    expect(connections).toHaveLength(3)
  })

  it('webhook connection is not reused if its end delimits the response body', async () => {
    const { url } = await rawReceiver((socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\nok'))
    const { connection, exchange } = await postOnce(url)
    expect([exchange.response?.status, connection.reusable]).toEqual([200, false])
    await connection.destroy()
  })

  it('idle webhook connection leaves the pool when the receiver closes it', async () => {
    const { url, connections } = await rawReceiver((socket) => void socket.write(ok))
    const { connection } = await postOnce(url)
    const kept = new IdleConnections()
    kept.add('key', connection)
    expect(kept.size).toBe(1)
    connections[0]?.end()
    await vi.waitFor(() => expect(kept.size).toBe(0), 30_000)
    expect(kept.take('key')).toBeUndefined()
  })

  it.each([
    ['is reused after a body of 16 KiB', 16 * 1024, 1],
    ['is not reused after a longer body', 16 * 1024 + 1, 2],
  ])('webhook connection %s', async (_, length, expected) => {
    const { send, url, connections } = await httpReceiver((_request, response) => response.end('x'.repeat(length)))
    for (let delivery = 0; delivery < 2; delivery++) expect(await send(url)).toMatchObject({ error: null })
    expect(connections).toHaveLength(expected)
  })

  it('webhook connection is not reused if the receiver sent bytes after the response', async () => {
    const { send, url, connections } = await rawReceiver((socket) => void socket.write(ok + ok))
    for (let delivery = 0; delivery < 3; delivery++) expect(await send(url)).toMatchObject({ error: null })
    expect(connections).toHaveLength(3)
  })

  it('webhook connection of a timed-out attempt is not reused', async () => {
    let requests = 0
    const { send, url, connections } = await rawReceiver(
      (socket) => {
        // On a reused connection, the late response to the first delivery would look like the response to the second.
        if (requests++ > 0) socket.write(ok)
      },
      { timeoutMs: 1_000 },
    )
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const timedOut = send(url)
    while (requests === 0) await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(1_000)
    expect(await timedOut).toMatchObject({ error: { code: 'response_timeout' } })
    expect(await send(url)).toMatchObject({ error: null })
    expect(connections).toHaveLength(2)
  })

  it('idle webhook connections are closed by close() of the sender', async () => {
    const { send, url, connections, close } = await rawReceiver((socket) => void socket.write(ok))
    await send(url)
    await close()
    await ended(connections[0])
  })
})
