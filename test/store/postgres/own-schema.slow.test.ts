import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createSchema } from '../../../src/store/postgres/schema.js'
import { startServer } from '../../../src/testing/index.js'
import { emptyDatabase } from '../../support/postgres/database.js'
import { holdersOf, schemasOf } from '../../support/postgres/own-schemas.js'
import { until } from '../../support/server/deliveries.js'

const program = fileURLToPath(new URL('start-on-postgres.cjs', import.meta.url))

/** Starts a server in its own process; resolves with the process and the schema that it created. */
async function startProcess(databaseUrl: string) {
  const before = await schemasOf(databaseUrl)
  const child = fork(program, [databaseUrl], { execArgv: [] })
  await once(child, 'message')
  const schema = (await schemasOf(databaseUrl)).find((it) => !before.includes(it)) as string
  return { child, schema, ended: once(child, 'exit') }
}

test('start drops the schema of a killed process, and keeps schemas of running processes', async () => {
  const databaseUrl = await emptyDatabase()
  const running = await startProcess(databaseUrl)
  const killed = await startProcess(databaseUrl)
  const starting = await createSchema({ url: databaseUrl, env: {} })
  killed.child.kill('SIGKILL')
  await killed.ended
  // PostgreSQL notices the end of a process a little later.
  await until(async () => (await holdersOf(databaseUrl)).length === 2)

  const server = await startServer({ databaseUrl, listen: false })
  const names = await schemasOf(databaseUrl)
  expect(names).not.toContain(killed.schema)
  expect(names).toEqual(expect.arrayContaining([running.schema, starting.name]))
  expect(names).toHaveLength(3)

  await Promise.all([server.close(), starting.drop()])
  running.child.send('close')
  expect((await running.ended)[0]).toBe(0)
  expect(await schemasOf(databaseUrl)).toEqual([])
})

test('a process ends although its server was not closed, and a later start drops the schema', async () => {
  const databaseUrl = await emptyDatabase()
  const { child, ended } = await startProcess(databaseUrl)
  child.send('forget')
  expect((await ended)[0]).toBe(0)
  await until(async () => (await holdersOf(databaseUrl)).length === 0)
  const server = await startServer({ databaseUrl, listen: false })
  await server.close()
  expect(await schemasOf(databaseUrl)).toEqual([])
})
