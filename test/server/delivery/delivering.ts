import { createServer, type RequestListener } from 'node:http'
import { connect, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { onTestFinished } from 'vitest'
import { type Delivery, type SenderOptions, WebhookSender } from '../../../src/server/delivery/sender.js'
import { listen } from '../../support/listen.js'
import { hooksExampleCom } from './certificates.js'

export const publicAddress = '93.184.216.34'

/** Fake DNS lookup: resolves every host name to one public address. */
export const lookup = async () => [publicAddress]

/** Connection handler that never responds. */
export const silent = () => {}

export const respondWith = (bytes: string) => (socket: Socket) => void socket.write(bytes, 'latin1')

/** Creates a webhook sender that is closed at the end of the test. */
export function senderFor(options: SenderOptions = {}) {
  const sender = new WebhookSender(options)
  onTestFinished(() => sender.close(0))
  const send = (url: string, delivery: Partial<Delivery> = {}) =>
    sender.send({ url, body: Buffer.from('{"update_id":1}'), headers: {}, allowedIps: [], ...delivery })
  return { send, close: (graceMs?: number) => sender.close(graceMs) }
}

/** Resolves when the connection has closed, with or without an error. */
export async function ended(socket: Socket | undefined): Promise<void> {
  if (socket === undefined) throw new Error('there was no connection')
  if (!socket.closed) await new Promise((resolve) => socket.on('close', resolve))
}

interface Receiver {
  readonly port: number
  readonly url: string
  readonly connections: Socket[]
  /** Sends a delivery over HTTP to the loopback, as `--dev-webhook-loopback` allows. */
  readonly send: ReturnType<typeof senderFor>['send']
  readonly close: ReturnType<typeof senderFor>['close']
}

async function receiverOf(server: Server, scheme: string, options: SenderOptions): Promise<Receiver> {
  const connections: Socket[] = []
  server.on('connection', (socket: Socket) => connections.push(socket))
  const port = await listen(server)
  const sender = senderFor({ loopbackPorts: new Set([port]), ...options })
  return { port, url: `${scheme}://127.0.0.1:${port}/hook`, connections, ...sender }
}

/** Starts a webhook receiver on Node's HTTP server. */
export function httpReceiver(respond: RequestListener, options: SenderOptions = {}): Promise<Receiver> {
  return receiverOf(createServer(respond), 'http', options)
}

/** Starts a webhook receiver that passes each connection to `respond` when the complete request has arrived. */
export function rawReceiver(respond: (socket: Socket) => void, options: SenderOptions = {}): Promise<Receiver> {
  const server = createTcpServer((socket) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!text.endsWith('{"update_id":1}')) return
      text = ''
      respond(socket)
    })
  })
  return receiverOf(server, 'http', options)
}

/** Starts a webhook receiver that passes each new connection to `accept`, before any request. */
export function tcpReceiver(accept: (socket: Socket) => void, options: SenderOptions = {}): Promise<Receiver> {
  return receiverOf(createTcpServer(accept), 'https', options)
}

const respondOk = respondWith('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')

/** Starts a webhook receiver over TLS. */
export function tlsReceiver(
  certificate: { key: string; cert: string },
  options: SenderOptions = {},
  respond: (socket: Socket) => void = respondOk,
): Promise<Receiver> {
  const server = createTlsServer(certificate, (socket) => {
    socket.on('error', () => {})
    socket.on('data', () => respond(socket))
  })
  return receiverOf(server, 'https', options)
}

/**
 * Simulates the internet: every connection leads to the local listener on `port`, and its socket reports `peer`, or by
 * default the requested address, as its peer. `dialled` lists the requested addresses and ports.
 */
export function internet(port: number, peer?: string) {
  const dialled: string[] = []
  const connectTcp = (address: string, wanted: number) => {
    dialled.push(`${address} ${wanted}`)
    const socket = connect({ host: '127.0.0.1', port })
    Object.defineProperty(socket, 'remoteAddress', { get: () => peer ?? address })
    return socket
  }
  return { dialled, options: { connectTcp, ca: hooksExampleCom.cert } }
}

/** Like `internet`, but connections to `address` lead to the local listener on `port`. */
export function internetExcept(address: string, port: number, others: ReturnType<typeof internet>) {
  const there = internet(port).options.connectTcp
  const connectTcp = (asked: string, wanted: number) =>
    (asked === address ? there : others.options.connectTcp)(asked, wanted)
  return { ...others.options, connectTcp }
}
