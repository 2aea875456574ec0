import { createServer } from 'node:net'
import process from 'node:process'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { DatabaseFailure } from '../../../src/store/postgres/errors.js'
import { Connections } from '../../../src/store/postgres/pool.js'
import { PrimaryGuard } from '../../../src/store/postgres/primary.js'
import { connectionOf } from '../../../src/store/postgres/settings.js'
import { listen } from '../../support/listen.js'
import { takeDatabase } from '../../support/postgres/database.js'
import { authenticationOk, postgresError, readyForQuery } from '../../support/postgres/wire.js'

const ends = postgresError('57P01', 'terminating connection due to administrator command')

/** Starts a fake PostgreSQL server that sends these messages in one chunk to each connection and closes it. */
async function databaseThatSays(...messages: readonly Buffer[]): Promise<Connections> {
  const server = createServer((socket) => {
    socket.once('data', () => socket.end(Buffer.concat(messages)))
  })
  const port = await listen(server)
  const connections = new Connections(
    { host: '127.0.0.1', port, user: 'u', database: 'd', ssl: false },
    new PrimaryGuard(),
  )
  onTestFinished(() => connections.close())
  return connections
}

describe('database that closes a connection', () => {
  it('query fails as an outage if one TCP chunk has both ReadyForQuery and the termination', async () => {
    const fatal: Error[] = []
    const note = (error: Error) => fatal.push(error)
    process.on('uncaughtExceptionMonitor', note)
    onTestFinished(() => void process.off('uncaughtExceptionMonitor', note))
    const connections = await databaseThatSays(authenticationOk, readyForQuery, ends)
    // The pool runs its first query before it lends the connection.
    const failure = await connections.lend('writes').catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(DatabaseFailure)
    expect(failure).toMatchObject({ problem: 'unavailable', isOutage: true })
    expect(fatal).toEqual([])
  })

  it.each([
    ['before it is open', [ends]],
    ['without a message', []],
  ])('connecting fails as an outage if the database closes the connection %s', async (_when, messages) => {
    const connections = await databaseThatSays(...messages)
    await expect(connections.lend('reads')).rejects.toMatchObject({ problem: 'unavailable', isOutage: true })
  })
})

describe('connections that are all in use', () => {
  it('call waits 5 s for one of them, longer than for a new connection', async () => {
    const database = takeDatabase()
    const { config } = await connectionOf({ url: await database.url, env: {} })
    const connections = new Connections(config, new PrimaryGuard())
    const lent = await Promise.all(Array.from({ length: 6 }, () => connections.lend('writes')))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(async () => {
      vi.useRealTimers()
      for (const it of lent.slice(1)) it.release()
      await connections.close()
      database.release()
    })
    const [served, refused] = [connections.lend('writes'), connections.lend('writes').catch((error: unknown) => error)]
    vi.advanceTimersByTime(4_999)
    lent[0]?.release()
    const one = await served
    vi.advanceTimersByTime(1)
    expect(await refused).toMatchObject({ problem: 'unavailable', isOutage: true })
    one.release()
  })
})
