import { connect, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { closedPort } from '../../support/closed-port.js'
import { listen } from '../../support/listen.js'
import { hooksExampleCom } from './certificates.js'
import {
  ended,
  httpReceiver,
  internet,
  internetExcept,
  lookup,
  publicAddress,
  rawReceiver,
  respondWith,
  senderFor,
  silent,
  tcpReceiver,
  tlsReceiver,
} from './delivering.js'

/** Delivery timeout, ms. A test whose connection must be open before it ends replaces the timers. */
const timeoutMs = 500
const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n'

/** Replaces the timers of the sender; sockets keep real timers. */
const faked: Parameters<typeof vi.useFakeTimers>[0] = { toFake: ['setTimeout', 'clearTimeout', 'performance'] }
/** How long the sender waits for the body after the head of a response. */
const BODY_WAIT_MS = 2_000

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const nextTick = () => new Promise((resolve) => setImmediate(resolve))

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await nextTick()
}

function settled<T>(result: Promise<T>) {
  let hasSettled = false
  void result.finally(() => (hasSettled = true))
  const isSettled = async () => {
    await nextTick()
    return hasSettled
  }
  return { result, isSettled }
}

/** Writes the bytes repeatedly until the sender closes the connection; resolves to the number of bytes sent. */
async function flood(socket: Socket, bytes: string): Promise<number> {
  const closed = ended(socket)
  const pump = () => {
    while (!socket.destroyed && socket.write(bytes, 'latin1'));
  }
  socket.on('drain', pump)
  pump()
  await closed
  return socket.bytesWritten
}

const trickle = (socket: Socket, text: string) => {
  let at = 0
  const timer = setInterval(() => socket.write(text[at++ % text.length] ?? ''), 2)
  socket.on('close', () => clearInterval(timer))
}

describe('slow receiver', () => {
  it.each([
    ['never responds', silent, 'response_timeout'],
    [
      'trickles its status line',
      (socket: Socket) => trickle(socket, 'HTTP/1.1 200 '.padEnd(5_000, 'O')),
      'response_timeout',
    ],
    [
      'trickles its headers',
      (socket: Socket) => {
        socket.write(head)
        trickle(socket, 'A: b\r\n')
      },
      'response_timeout',
    ],
    [
      'responds with endless 103',
      (socket: Socket) => trickle(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'),
      'response_timeout',
    ],
  ])('delivery fails with response_timeout after its time limit if the receiver %s', async (_, respond, code) => {
    vi.useFakeTimers(faked)
    let requests = 0
    const count = (socket: Socket) => {
      requests += 1
      respond(socket)
    }
    const { send, url, connections } = await rawReceiver(count, { timeoutMs })
    const sent = settled(send(url))
    const bytes = respond === silent ? 0 : 5
    await until(() => requests === 1 && (connections[0]?.bytesWritten ?? 0) >= bytes)
    vi.advanceTimersByTime(timeoutMs - 1)
    expect(await sent.isSettled()).toBe(false)
    vi.advanceTimersByTime(1)
    expect(await sent.result).toMatchObject({
      statusCode: null,
      error: { code },
      ipAddress: '127.0.0.1',
      durationMs: timeoutMs,
    })
    await ended(connections[0])
  })

  it('delivery fails with tls_timeout if the TLS handshake hangs', async () => {
    vi.useFakeTimers(faked)
    let handshakes = 0
    const { send, url, connections } = await tcpReceiver((socket) => socket.once('data', () => handshakes++), {
      timeoutMs,
    })
    const sent = send(url)
    await until(() => handshakes === 1)
    vi.advanceTimersByTime(timeoutMs)
    expect(await sent).toMatchObject({ error: { code: 'tls_timeout' }, ipAddress: '127.0.0.1' })
    await ended(connections[0])
  })

  it('delivery fails with connection_timeout if the connection is not accepted', async () => {
    const sockets: Socket[] = []
    const { connectTcp } = internet(await closedPort()).options
    const { send } = senderFor({
      timeoutMs,
      lookup,
      connectTcp: (address, port) => {
        const socket = connectTcp(address, port)
        // Drop every event of the socket, so that the connection is neither accepted nor refused.
        socket.emit = () => true
        sockets.push(socket)
        return socket
      },
    })
    expect(await send('https://hooks.example.com/')).toMatchObject({ error: { code: 'connection_timeout' } })
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true])
  })

  it('delivery tries the next address after half of its time limit', async () => {
    vi.useFakeTimers(faked)
    const { port } = await tlsReceiver(hooksExampleCom)
    let handshakes = 0
    const hanging = await listen(createServer((socket) => socket.once('data', () => handshakes++)))
    const { send } = senderFor({
      ...internetExcept('93.184.216.1', hanging, internet(port)),
      timeoutMs,
      lookup: async () => ['93.184.216.1', '93.184.216.2'],
    })
    const sent = send('https://hooks.example.com/')
    await until(() => handshakes === 1)
    vi.advanceTimersByTime(timeoutMs / 2)
    expect(await sent).toMatchObject({ error: null, ipAddress: '93.184.216.2' })
  })

  it('delivery fails with lookup_timeout if the name server never responds', async () => {
    const signals: AbortSignal[] = []
    const { send } = senderFor({
      timeoutMs,
      lookup: (_host, signal) => {
        signals.push(signal)
        return new Promise(() => {})
      },
    })
    expect(await send('https://hooks.example.com/')).toMatchObject({
      error: { code: 'lookup_timeout' },
      ipAddress: null,
    })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('delivery without a response fails after 15 s by default', { tags: 'delivery-attempts/1' }, async () => {
    vi.useFakeTimers(faked)
    const sent = settled(senderFor({ lookup: () => new Promise(() => {}) }).send('https://hooks.example.com/'))
    vi.advanceTimersByTime(14_999)
    expect(await sent.isSettled()).toBe(false)
    vi.advanceTimersByTime(1)
    expect(await sent.isSettled()).toBe(true)
    expect(await sent.result).toMatchObject({ error: { code: 'lookup_timeout' }, durationMs: 15_000 })
  })

  it('DNS lookup and connection of a delivery share one time limit', { tags: 'delivery-attempts/2' }, async () => {
    const { port } = await tlsReceiver(hooksExampleCom)
    const { send } = senderFor({
      ...internet(port).options,
      timeoutMs,
      lookup: (_host, signal) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve([publicAddress]))),
    })
    expect(await send('https://hooks.example.com/')).toMatchObject({
      error: { code: 'lookup_timeout' },
    })
  })
})

describe('endless response body', () => {
  it.each([
    [200, null],
    [500, { code: 'http_status' }],
  ])('delivery ends with status %i before an endless body', { tags: 'delivery-attempts/2' }, async (status, error) => {
    const { send, url, connections } = await rawReceiver((socket) => {
      socket.write(`HTTP/1.1 ${status} X\r\n\r\n`)
      trickle(socket, 'abc')
    })
    vi.useFakeTimers(faked)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const sent = send(url)
    await until(() => timers.mock.calls.some(([, ms]) => ms === BODY_WAIT_MS))
    vi.advanceTimersByTime(BODY_WAIT_MS)
    expect(await sent).toMatchObject({ error, statusCode: status })
    await ended(connections[0])
  })

  it('delivery ends at most 2 s after the head of a response whose body never arrives', async () => {
    const { send, url, connections } = await rawReceiver(
      (socket) => void socket.write(`${head}Content-Length: 5\r\n\r\n`),
    )
    vi.useFakeTimers(faked)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const sent = settled(send(url))
    await until(() => timers.mock.calls.some(([, ms]) => ms === BODY_WAIT_MS))
    vi.advanceTimersByTime(BODY_WAIT_MS - 1)
    expect(await sent.isSettled()).toBe(false)
    vi.advanceTimersByTime(1)
    expect(await sent.result).toMatchObject({ error: null, durationMs: 0 })
    await ended(connections[0])
  })
})

/** Uses the default timeout of 15 s: with a short timeout a delivery might fail with response_timeout instead. */
describe('invalid response', () => {
  const rests = {
    'an upgrade': 'Connection: Upgrade\r\nUpgrade: x\r\n',
    'a length': 'Content-Length: 0\r\n',
    nothing: '',
  }
  it.each(
    ['000', '099', '100', '101'].flatMap((status) =>
      Object.entries(rests).map(([name, rest]) => [status, name, rest] as const),
    ),
  )('delivery fails with response_invalid for the response status %s with %s', async (status, _name, rest) => {
    const { send, url, connections } = await rawReceiver(respondWith(`HTTP/1.1 ${status} X\r\n${rest}\r\n`))
    expect(await send(url)).toMatchObject({ statusCode: null, error: { code: 'response_invalid' } })
    await ended(connections[0])
  })

  it.each(['600', '999'])('delivery fails with http_status for the response status %s', async (status) => {
    const { send, url } = await rawReceiver(respondWith(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`))
    expect(await send(url)).toMatchObject({
      statusCode: Number(status),
      error: { code: 'http_status' },
    })
  })
})

describe('endless response', () => {
  const block = 'x'.repeat(64 * 1024)

  it.each([
    ['a body', `${head}\r\n`, block, { error: null }],
    ['a body of 10 GB', `${head}Content-Length: 10000000000\r\n\r\n`, block, { error: null }],
    ['chunks', `${head}Transfer-Encoding: chunked\r\n\r\n`, `10000\r\n${block}\r\n`, { error: null }],
    ['a chunk extension', `${head}Transfer-Encoding: chunked\r\n\r\n5;`, block, { error: null }],
    ['a reason phrase', 'HTTP/1.1 200 ', block, { error: { code: 'response_invalid' } }],
    ['headers', head, 'A: b\r\n'.repeat(1_000), { error: { code: 'response_invalid' } }],
    ['one header', `${head}A: `, block, { error: { code: 'response_invalid' } }],
    [
      'interim responses',
      '',
      'HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n'.repeat(1_000),
      { error: { code: 'response_invalid' } },
    ],
  ])('sender closes the connection before the receiver can send 32 MiB of %s', async (_, first, rest, expected) => {
    const floods: Promise<number>[] = []
    const { send, url } = await rawReceiver((socket) => {
      socket.write(first)
      floods.push(flood(socket, rest))
    })
    const result = await send(url)
    expect(result).toMatchObject(expected)
    // Most of the sent bytes are in kernel buffers, not read by the sender.
    expect(await floods[0]).toBeLessThan(32 * 1024 * 1024)
  })

  it('sender reads less than 64 MiB of 100 endless responses', async () => {
    const sockets: Socket[] = []
    const { send, url } = await rawReceiver(
      (socket) => {
        socket.write(`${head}\r\n`)
        void flood(socket, block)
      },
      {
        connectTcp: (host, port) => {
          const socket = connect({ host, port })
          sockets.push(socket)
          return socket
        },
      },
    )
    for (let delivery = 0; delivery < 100; delivery++) await send(url)
    expect(sockets).toHaveLength(100)
    // A response takes no more memory than its bytes; the memory that the process uses depends on its garbage.
    expect(sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)).toBeLessThan(64 * 1024 * 1024)
  })
})

describe('concurrent deliveries', () => {
  it('deliveries to other receivers succeed while one receiver hangs', async () => {
    const hanging = await rawReceiver(silent)
    const { port, url } = await httpReceiver((_request, response) => response.end())
    const { send, close } = senderFor({ loopbackPorts: new Set([port, hanging.port]) })
    const stuck = Array.from({ length: 50 }, () => send(hanging.url))
    for (let delivery = 0; delivery < 20; delivery++) expect(await send(url)).toMatchObject({ error: null })
    await close(0)
    expect((await Promise.all(stuck)).map(({ error }) => error?.code)).toEqual(stuck.map(() => 'aborted'))
  })
})

describe('closing the sender', () => {
  it('close() of the sender waits for a running attempt and refuses new ones', async () => {
    let respond = silent
    const asked = new Promise<void>((resolve) => {
      respond = resolve
    })
    let finish = silent
    const { send, url, close } = await httpReceiver((_request, response) => {
      finish = () => response.end()
      respond()
    })
    const running = send(url)
    await asked
    const closed = close()
    finish()
    expect(await running).toMatchObject({ error: null })
    await closed
    await expect(send(url)).rejects.toThrow('closed')
  })

  it('close() of the sender aborts an attempt that exceeds the grace period', async () => {
    let arrive = silent
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const { send, url, close, connections } = await rawReceiver(() => arrive())
    const running = send(url)
    await arrived
    await close(20)
    expect(await running).toMatchObject({ error: { code: 'aborted' } })
    await ended(connections[0])
  })
})
