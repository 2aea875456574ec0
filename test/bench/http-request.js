/** The text of a POST request, whose body must be ASCII. */
export function httpRequest(path, headers, body) {
  const all = { Host: '127.0.0.1', ...headers, 'Content-Length': body.length }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
