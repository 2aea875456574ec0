/** Messages of a PostgreSQL server (its protocol, 55.7): a type, a length, and what is said. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.from(`${type}....`)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** Who connected needs no password. */
export const authenticationOk = message('R', Buffer.alloc(4))
export const readyForQuery = message('Z', Buffer.from('I'))

/** After it the server ends the connection. */
export const postgresError = (state: string, text: string): Buffer =>
  message('E', Buffer.from(`SFATAL\0VFATAL\0C${state}\0M${text}\0\0`))
