import { Client } from 'pg'

/** Runs SQL on a new connection and returns the rows; a text of several statements returns none. */
export async function query<Row = Record<string, unknown>>(url: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: url })
  try {
    await client.connect()
    return (await client.query(sql)).rows as Row[]
  } finally {
    await client.end()
  }
}
