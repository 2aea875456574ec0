// Child process, the floor of P9: inserts, claims, signs, posts and records deliveries in shared commits, with tables
// and statements of the store. It has no counts of rows, limits, retries or checks of addresses. A job:
// { port, connections, bot, bodies, count }; the process reports the CPU time per delivery and exits with its parent.
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import process from 'node:process'
import { Pool } from 'undici'
import { INSERT_DELIVERY } from '../../../src/store/delivery/backlog.js'
import { prepareStatement } from '../../../src/store/sqlite/engine.js'
import { closeSqliteFile, openSqliteFile } from '../../../src/store/sqlite/open.js'

const CHATS = 100

const file = join(process.argv[2], 'floor-deliveries.db')
const db = openSqliteFile(file)
for (const { name } of db.prepare("select name from sqlite_master where type = 'trigger'").all()) {
  db.exec(`drop trigger ${name}`)
}
const prepare = (sql) => prepareStatement(db, sql)
const insertUpdate = prepare("insert into updates values ($1, $2, 'message', $3, $4, $5, 1, null)")
const insertDelivery = prepare(INSERT_DELIVERY)
const ready = prepare(`select d.id, d.update_id, u.body from deliveries d
  join updates u on u.bot_id = d.bot_id and u.update_id = d.update_id
  where d.bot_id = $1 and d.ready = 1 order by d.update_id limit $2`)
const claim = prepare(`update deliveries set status = 'delivering', ready = 0, lease_until = $2, last_attempt_at = $3,
  next_attempt_at = null where id = $1`)
const record = prepare(`update deliveries set status = 'delivered', attempt_count = 1, delivered_at = $2,
  last_status_code = $3, last_duration_ms = $4, ready = 0, lease_until = null where id = $1 and lease_until = $5`)
const confirm = prepare('update updates set pending = 0 where bot_id = $1 and update_id = $2 and pending = 1')
const insertAttempt = prepare('insert into delivery_attempts values ($1, 1, $2, 0, $3, $4, $5, null, null)')

function commit(work) {
  db.exec('begin immediate')
  const result = work()
  db.exec('commit')
  return result
}

const usage = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}

process.on('message', async ({ port, connections, bot, bodies, count }) => {
  const now = Date.now()
  const ids = Array.from({ length: count }, (_, n) => n + 1)
  commit(() => {
    for (const id of ids) insertUpdate.run([bot, id, `chat-${id % CHATS}`, bodies[id % bodies.length], now])
  })
  const before = usage()
  commit(() => {
    for (const id of ids) {
      const chat = `chat-${id % CHATS}`
      insertDelivery.run([`dlv_${bot}_${String(id).padStart(18, '0')}`, bot, id, 'message', chat, now])
    }
  })
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 })
  await deliver(pool, { connections, bot, count })
  process.send({ cpu: (usage() - before) / count })
  await pool.close()
})

/** Sends the bot's deliveries. One commit records the attempts that have ended, and claims the next deliveries. */
function deliver(pool, { connections, bot, count }) {
  return new Promise((resolve, reject) => {
    let inFlight = 0
    let recorded = 0
    let ended = []
    const pass = () => {
      const lease = Date.now() + 60_000
      const claimed = commit(() => {
        for (const { id, update_id: updateId, startedAt, lease: held, status, ms } of ended) {
          record.run([id, startedAt + ms, status, ms, held])
          confirm.run([bot, updateId])
          insertAttempt.run([id, bot, startedAt, ms, status])
        }
        const found = ready.all([bot, connections - inFlight])
        for (const { id } of found) claim.run([id, lease, Date.now()])
        return found
      })
      recorded += ended.length
      ended = []
      for (const delivery of claimed) send(delivery, lease).catch(reject)
      if (recorded === count) resolve()
    }
    const send = async (delivery, lease) => {
      inFlight += 1
      const startedAt = Date.now()
      const status = await post(pool, delivery)
      inFlight -= 1
      ended.push({ ...delivery, startedAt, lease, status, ms: Date.now() - startedAt })
      if (ended.length === 1) setImmediate(pass)
    }
    pass()
  })
}

async function post(pool, { update_id: updateId, body }) {
  const timestamp = Math.floor(Date.now() / 1000)
  const signature = createHmac('sha256', 'a secret of 32 characters, about')
    .update(`${timestamp}.${body}`)
    .digest('hex')
  const headers = {
    'content-type': 'application/json',
    'x-platform-signature-v2': signature,
    'x-platform-timestamp': `${timestamp}`,
    'x-platform-update-id': `${updateId}`,
  }
  const response = await pool.request({ method: 'POST', path: '/hook', headers, body })
  await response.body.dump()
  return response.statusCode
}

process.on('disconnect', () => {
  closeSqliteFile(db, file)
  process.exit()
})
