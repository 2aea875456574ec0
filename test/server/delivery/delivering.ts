import { createServer, type RequestListener } from 'node:http'
import { connect, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { onTestFinished } from 'vitest'
import { createSender, type Delivery, type SenderOptions } from '../../../src/server/delivery/sender.js'
import { listen } from '../../support/listen.js'
import { hooksExampleCom } from './certificates.js'

export const publicAddress = '93.184.216.34'

/** A DNS lookup that resolves every host to one public address. */
export const lookup = async () => [publicAddress]

/** A receiver that never responds. */
export const silent = () => {}

export const answering = (bytes: string) => (socket: Socket) => void socket.write(bytes, 'latin1')

/** A sender that closes at the end of the test. */
export function senderFor(options: SenderOptions = {}) {
  const sender = createSender(options)
  onTestFinished(() => sender.close(0))
  const send = (url: string, delivery: Partial<Delivery> = {}) =>
    sender.send({ url, body: Buffer.from('{"update_id":1}'), headers: {}, allowedIps: [], ...delivery })
  return { send, close: sender.close }
}

/** Waits until a connection has ended for whatever reason. */
export async function ended(socket: Socket | undefined): Promise<void> {
  if (socket === undefined) throw new Error('there was no connection')
  if (!socket.closed) await new Promise((resolve) => socket.on('close', resolve))
}

export interface Receiver {
  readonly port: number
  readonly url: string
  readonly connections: Socket[]
  /** Delivers over http on the loopback, as `--dev-webhook-loopback` allows. */
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

/** A receiver on node's own HTTP server. */
export function httpReceiver(answer: RequestListener, options: SenderOptions = {}): Promise<Receiver> {
  return receiverOf(createServer(answer), 'http', options)
}

/** A receiver that handles each connection with `answer` once the complete request has arrived. */
export function rawReceiver(answer: (socket: Socket) => void, options: SenderOptions = {}): Promise<Receiver> {
  const server = createTcpServer((socket) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!text.endsWith('{"update_id":1}')) return
      text = ''
      answer(socket)
    })
  })
  return receiverOf(server, 'http', options)
}

/** A receiver that handles each connection with `accept` from its start. */
export function tcpReceiver(accept: (socket: Socket) => void, options: SenderOptions = {}): Promise<Receiver> {
  return receiverOf(createTcpServer(accept), 'https', options)
}

const answerOk = answering('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')

/** A receiver over TLS. */
export function tlsReceiver(
  certificate: { key: string; cert: string },
  options: SenderOptions = {},
  answer: (socket: Socket) => void = answerOk,
): Promise<Receiver> {
  const server = createTlsServer(certificate, (socket) => {
    socket.on('error', () => {})
    socket.on('data', () => answer(socket))
  })
  return receiverOf(server, 'https', options)
}

/**
 * Simulates the internet: every address leads to one local listener, and sockets report the requested peer, or the one
 * that is given. `dialled` lists the requested addresses and ports.
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

/** The same, with another port for one address. */
export function internetExcept(address: string, port: number, others: ReturnType<typeof internet>) {
  const there = internet(port).options.connectTcp
  const connectTcp = (asked: string, wanted: number) =>
    (asked === address ? there : others.options.connectTcp)(asked, wanted)
  return { ...others.options, connectTcp }
}
