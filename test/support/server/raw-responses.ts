import { createServer, type Socket } from 'node:net'
import { listen } from '../listen.js'

/** Bytes to send after a complete request has arrived, or a function that handles the socket then. */
export type RawResponse = string | ((socket: Socket) => void)

const head = (status: string, rest = 'Content-Length: 0\r\n\r\n') => `HTTP/1.1 ${status} X\r\n${rest}`
const flood = (first: string, more: string) => (socket: Socket) => {
  const pump = () => {
    while (!socket.destroyed && socket.write(more.repeat(200)));
  }
  socket.on('drain', pump)
  socket.write(first)
  pump()
}

/** Invalid or incomplete HTTP responses that a client can detect without a time-out. */
export const invalidResponses: Readonly<Record<string, RawResponse>> = {
  'status 000': head('000'),
  'status 000 without a length': (socket) => void socket.end(head('000', '\r\n')),
  'status 099': head('099'),
  'status 101 with an upgrade': head('101', 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
  'status 101 without an upgrade': head('101', '\r\n'),
  'status 600': head('600'),
  'status 999': head('999'),
  'status 1000': head('1000'),
  'a space in the name of a header': head('200', 'X Y: 1\r\nContent-Length: 0\r\n\r\n'),
  'a control character in a header': head('200', 'X: a\u0001b\r\nContent-Length: 0\r\n\r\n'),
  'a folded header': head('200', 'X: a\r\n b\r\nContent-Length: 0\r\n\r\n'),
  'two Content-Length headers': head('200', 'Content-Length: 0\r\nContent-Length: 1\r\n\r\n'),
  'both a length and chunks': head('200', 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
  'an invalid chunk': head('200', 'Transfer-Encoding: chunked\r\n\r\nzz\r\n'),
  'an invalid chunk after a valid one': head('200', 'Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nzz\r\n'),
  'HTTP/0.9': 'hello\n',
  'endless headers': flood('HTTP/1.1 200 OK\r\n', 'A: b\r\n'),
  'endless trailers': flood(head('200', 'Transfer-Encoding: chunked\r\n\r\n0\r\n'), 'A: b\r\n'),
  'an endless body': flood(head('200', '\r\n'), 'hello'),
  'an endless chunked body': flood(
    head('200', 'Transfer-Encoding: chunked\r\n\r\n'),
    `400\r\n${'x'.repeat(0x400)}\r\n`,
  ),
  'an incomplete body': (socket) => void socket.end(head('200', 'Content-Length: 9\r\n\r\nhalf')),
  'incomplete chunks': (socket) => void socket.end(head('200', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhe')),
  'incomplete headers': (socket) => void socket.end('HTTP/1.1 200 OK\r\nX: '),
  'interim responses alone': (socket) => void socket.end(head('103', '\r\n').repeat(3)),
  'no bytes at all': (socket) => void socket.end(),
  'a reset': (socket) => void socket.resetAndDestroy(),
}

/** Responses that never complete, so that a client must time out. */
export const unendingResponses: Readonly<Record<string, RawResponse>> = {
  silence: () => {},
  'status 100 alone': head('100', '\r\n'),
  'status 102 alone': head('102', '\r\n'),
  'status 103 alone': head('103', '\r\n'),
  'status 199 alone': head('199', '\r\n'),
  'headers without end': 'HTTP/1.1 200 OK\r\nX: ',
  'half of a body': head('200', 'Content-Length: 9\r\n\r\nhalf'),
}

/** Unusual but valid responses, with the status that the listener must pass to its sender. */
export const validResponses: Readonly<Record<string, { readonly response: RawResponse; readonly status: number }>> = {
  'status 204 with a body': { response: head('204', 'Content-Length: 5\r\n\r\nHELLO'), status: 204 },
  'status 304 with a length': { response: head('304', 'Content-Length: 5\r\n\r\n'), status: 304 },
  'status 205': { response: head('205'), status: 205 },
  'status 599': { response: head('599'), status: 599 },
  'status 426 with an upgrade': {
    response: head('426', 'Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\nhi'),
    status: 426,
  },
  trailers: {
    response: head('201', 'Trailer: X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: 1\r\n\r\n'),
    status: 201,
  },
  'interim responses before the final one': {
    response: head('103', '\r\n') + head('199', '\r\n') + head('202'),
    status: 202,
  },
  'HTTP/1.0 until the connection ends': {
    response: (socket) => void socket.end('HTTP/1.0 200 OK\r\n\r\nhi'),
    status: 200,
  },
  'two responses in one write': { response: head('200') + head('500'), status: 200 },
  'bytes above ASCII in a header': { response: head('200', 'X: \u00ff\r\nContent-Length: 0\r\n\r\n'), status: 200 },
}

/** Starts an application that responds to each HTTP request with raw bytes; returns its URL. */
export async function rawApp(respond: () => RawResponse): Promise<URL> {
  const server = createServer((socket) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const head = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (head < 0 || text.length < head + 4 + length) return
      text = ''
      const response = respond()
      if (typeof response === 'string') socket.write(response, 'latin1')
      else response(socket)
    })
  })
  return new URL(`http://127.0.0.1:${await listen(server)}/hook`)
}
