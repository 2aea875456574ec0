import { rawServer } from '../listen.js'

const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n'

/** Servers that accept a request and never complete the response. */
export const slowServers = {
  silent: () => rawServer(() => {}),
  'stalled after the headers': () => rawServer((socket) => void socket.write(head)),
  trickling: () =>
    rawServer((socket) => {
      socket.write(head)
      const timer = setInterval(() => socket.write(' '), 20)
      socket.on('close', () => clearInterval(timer))
    }),
} as const
