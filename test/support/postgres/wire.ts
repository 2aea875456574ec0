/** Encodes a message of a PostgreSQL server: type, length and body (PostgreSQL documentation, section 55.7). */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.from(`${type}....`)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** Message of a server that requires no password. */
export const authenticationOk = message('R', Buffer.alloc(4))
export const readyForQuery = message('Z', Buffer.from('I'))

/** Message for a fatal error, after which a server closes the connection. */
export const postgresError = (state: string, text: string): Buffer =>
  message('E', Buffer.from(`SFATAL\0VFATAL\0C${state}\0M${text}\0\0`))
