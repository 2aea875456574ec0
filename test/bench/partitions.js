import pg from 'pg'
import { bundle } from './bundle.js'
import { startChild } from './child.js'
import { median } from './median.js'
import { startPostgres } from './postgres-server.js'
import { rowOf } from './row.js'

const APPLICATIONS = 1_000
/** Number of hash partitions. `none`: unpartitioned; `once`: PostgreSQL plans each statement once for all values. */
const SCHEMAS = ['none', '1', '4', '16', '64', '16 once', '64 once']
const ONCE = '-c plan_cache_mode=force_generic_plan'
const FEWER_APPLICATIONS = [1, 10, 100]
const CALLS = ['issue', 'verify', 'redeem']

/**
 * Calls per second for 1,000 applications by number of hash partitions of the runtime tables; for fewer applications
 * with 16 partitions; alternating, on databases of one server. The first round warms up and does not count.
 * @param {{ rounds: number, count: number, say: (line: string) => void }} options
 */
export async function measurePartitions({ rounds, count, say }) {
  const file = await bundle('partitions-under-test')
  const postgres = await startPostgres()
  const stores = new Map()
  const samples = new Map()
  const measure = async (schema, applications, isCounted) => {
    const measured = await stores.get(schema).ask({ applications, count })
    const name = `${schema}, ${applications}`
    if (isCounted) samples.set(name, [...(samples.get(name) ?? []), measured])
  }
  try {
    for (const schema of SCHEMAS) {
      const [partitions, isOnce] = schema.split(' ')
      const url = await newDatabase(postgres.url, `in_${schema.replace(' ', '_')}`)
      const store = startChild(file, [url, partitions === 'none' ? '0' : partitions, isOnce === undefined ? '' : ONCE])
      stores.set(schema, store)
      await store.nextMessage()
      await store.ask({ prepare: APPLICATIONS })
    }
    for (let round = 0; round <= rounds; round++) {
      for (const schema of round % 2 === 0 ? SCHEMAS : SCHEMAS.toReversed()) {
        await measure(schema, APPLICATIONS, round > 0)
      }
      for (const applications of FEWER_APPLICATIONS) await measure('16', applications, round > 0)
      say(round === 0 ? 'warm-up' : `round ${round} of ${rounds}`)
    }
  } finally {
    await Promise.all([...stores.values()].map((it) => it.stop()))
    await postgres.stop()
  }
  const rate = (schema, applications, call) => median(samples.get(`${schema}, ${applications}`).map((it) => it[call]))
  const line = (schema, applications) =>
    say(
      `partitions ${schema}, ${applications} applications: ${CALLS.map(
        (call) => `${call} ${Math.round(1e6 / rate(schema, applications, call))} us`,
      ).join('  ')}`,
    )
  for (const schema of SCHEMAS) line(schema, APPLICATIONS)
  for (const applications of FEWER_APPLICATIONS) line('16', applications)
  return CALLS.map((call) =>
    rowOf({
      id: 'partitions',
      what: `${call}, ${APPLICATIONS} applications in 64 partitions`,
      value: rate('64', APPLICATIONS, call),
      reference: rate('4', APPLICATIONS, call),
      target: 0.85,
      unit: 'calls/s',
      against: 'in 4',
      runs: rounds,
    }),
  )
}

async function newDatabase(url, name) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  return url.replace(/\/postgres$/, `/${name}`)
}
