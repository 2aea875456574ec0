const worker = 'src/server/delivery/worker.ts'
const pass = 'src/store/delivery/worker-pass.ts'
const results = 'src/store/delivery/attempt-results.ts'
const claims = 'src/store/delivery/claims.ts'
const backlog = 'src/store/delivery/backlog.ts'
const updates = 'src/store/delivery/updates.ts'
const outbox = 'src/store/outbox.ts'
const webhooks = 'src/store/delivery/webhooks.ts'
const delivery = 'src/domain/delivery.ts'
const signing = 'src/server/delivery/signing.ts'
const polls = 'src/server/polls.ts'
const runtime = 'src/server/handlers/bot-runtime.ts'
const setting = 'src/server/handlers/webhook.ts'
const bots = 'src/store/bots/bots.ts'
const caller = 'src/domain/bot/caller.ts'
const sweeper = 'src/server/background/expiry-sweeper.ts'
const idempotency = 'src/domain/idempotency.ts'
const records = 'src/store/idempotency.ts'
const vouchers = 'src/store/vouchers.ts'
const voucher = 'src/domain/voucher.ts'
const keys = 'src/server/transport/keys.ts'
const listen = 'src/server/listen.ts'
const upkeep = 'src/server/background/upkeep.ts'
const sqlite = 'src/store/sqlite/store.ts'

/** @returns {import('./defects.js').PlantedDefect} */
const defect = (file, name, from, to) => ({ name, file, from, to })

/**
 * Deliberate bugs that `node test/simulation/plant.js` plants one at a time: one for each rule that simulations check,
 * and those in files that mutation tests do not change.
 */
export const defects = [
  defect(
    worker,
    'results of attempts are lost with their commit',
    '      this.#ended.unshift(...ended.map((one) => ({ ...one, mayBeWritten: true as const })))\n',
    '',
  ),
  defect(
    worker,
    'a repeated result is not marked as possibly written',
    '({ ...one, mayBeWritten: true as const })',
    '({ ...one })',
  ),
  defect(
    worker,
    'bots are forgotten when a commit fails',
    '      for (const botId of bots.keys()) this.#botIds.add(botId)\n',
    '',
  ),
  defect(
    worker,
    'a start does not end the leases of earlier processes',
    'await this.#commitPass(alone ? ALWAYS : this.#leaseNow())',
    'await this.#commitPass(null)',
  ),
  defect(
    worker,
    'a start does not look for waiting deliveries',
    'for (const botId of await store.read(botsWithWork)) this.#botIds.add(botId)\n    await',
    'await',
  ),
  defect(worker, 'a changed URL is not noticed', 'cached.row.url === row.url && ', ''),
  defect(
    worker,
    'a stopping worker claims deliveries',
    'const room = this.#claims ? this.#slots - this.#inFlight.size : 0',
    'const room = this.#slots - this.#inFlight.size',
  ),
  defect(worker, 'a stop does not wait for attempts', '    await Promise.all(this.#inFlight)\n', ''),
  defect(
    worker,
    'a stop does not write the last results',
    'while (this.#ended.length + this.#postponed.length > 0) {',
    'while (this.#ended.length + this.#postponed.length < 0) {',
  ),
  defect(worker, 'a notice of a bot is ignored', 'isBot(subject) && this.#addBot(subject)', 'isBot(subject) && void 0'),
  defect(
    worker,
    'results of attempts are not kept for the next pass',
    'else this.#ended.push(ended)',
    'else void ended',
  ),
  defect(
    worker,
    'an attempt begins twice',
    'for (const attempt of result.begun) this.#begin(attempt)',
    'for (const attempt of [...result.begun, ...result.begun]) this.#begin(attempt)',
  ),
  defect(
    worker,
    'unconfirmed claims begin without a look at the store',
    '      this.#unconfirmed = [...unconfirmed, ...claimed]\n',
    '      for (const attempt of claimed) this.#begin(attempt)\n',
  ),

  defect(
    results,
    'a result is written without a check of the lease',
    'where id = $1 and coalesce(lease_until, 0) = $12`',
    'where id = $1 and coalesce(lease_until, 0) + $12 >= 0`',
  ),
  defect(
    results,
    'the update of a dead letter stays pending',
    "after.status === 'delivered' || after.status === 'dead_letter')) {",
    "after.status === 'delivered')) {",
  ),
  defect(
    results,
    'a late failure marks a replaced webhook as failing',
    'where bot_id = $1 and set_at = $2`',
    'where bot_id = $1 and set_at >= $2`',
  ),
  defect(
    results,
    'leases in force are expired',
    '(lease_until <= $1 or lease_until > $2)',
    '(lease_until <= $1 + 30000 or lease_until > $2)',
  ),
  defect(
    pass,
    'retries begin a minute early',
    "yield* markReady('<=', pass.now)) include",
    "yield* markReady('<=', pass.now + 60_000)) include",
  ),
  defect(
    claims,
    'a disabled bot gets deliveries',
    "where w.bot_id = $1 and b.status = 'active'`",
    'where w.bot_id = $1`',
  ),
  defect(
    claims,
    'chats in flight are not known to a claim',
    '`select chat_key from deliveries where bot_id = $1 and ${IN_FLIGHT}`',
    '`select chat_key from deliveries where bot_id = $1 and lease_until = 0`',
  ),
  defect(
    claims,
    'a failing endpoint gets all its connections',
    '(webhook.failing === 1 ? 1 : webhook.max_connections)',
    'webhook.max_connections',
  ),
  defect(
    claims,
    'the newest delivery goes first',
    '${DELIVERABLE} order by update_id limit $2`),\n    [botId, window]',
    '${DELIVERABLE} order by update_id desc limit $2`),\n    [botId, window]',
  ),
  defect(
    claims,
    'a claim ignores the backlog',
    'where bot_id = $1 and ready = 1 and ${DELIVERABLE} order',
    'where bot_id = $1 and ready = 1 order',
  ),
  defect(
    claims,
    'an expired update is sent',
    'const expired = row.last_attempt_at === null && (madeAt',
    'const expired = row.last_attempt_at === 0 && (madeAt',
  ),
  defect(
    claims,
    'an attempted update expires',
    'const expired = row.last_attempt_at === null && (madeAt',
    'const expired = (madeAt',
  ),
  defect(
    claims,
    'a claim does not set a lease',
    "set status = 'delivering', ready = 0, lease_until = $2,",
    "set status = 'delivering', ready = 0, lease_until = nullif($2, $2),",
  ),
  defect(
    claims,
    'a manual retry counts as scheduled',
    'const manual = row.resume_status !== null\n',
    'const manual = false\n',
  ),

  defect(
    delivery,
    'a result is accepted without its lease',
    "row.status === 'delivering' && row.lease_until === attempt.leaseUntil",
    "row.status === 'delivering'",
  ),
  defect(
    delivery,
    'a failed manual retry is scheduled',
    'if (row.resume_status !== null) {',
    'if (row.resume_status === undefined) {',
  ),
  defect(
    delivery,
    'a late failure of a cancelled delivery is not counted',
    "if (row.status === 'cancelled' || wasRestored) {",
    'if (wasRestored) {',
  ),
  defect(
    delivery,
    'a dead letter has one attempt less',
    'RETRY_DELAYS_SECONDS[counted.attempt_count - 1]',
    'RETRY_DELAYS_SECONDS[counted.attempt_count]',
  ),
  defect(
    delivery,
    'attempts are not counted',
    'attempt_count: row.attempt_count + (attempt.manual ? 0 : 1)',
    'attempt_count: row.attempt_count',
  ),
  defect(
    delivery,
    'manual attempts are counted as scheduled',
    'attempt_count: row.attempt_count + (attempt.manual ? 0 : 1)',
    'attempt_count: row.attempt_count + 1',
  ),
  defect(
    delivery,
    'a delivery in flight can be retried',
    "const may = status === 'failed'",
    "const may = status === 'delivering' || status === 'failed'",
  ),

  defect(
    backlog,
    'confirmed updates are polled until their rows change',
    'export const WAITING = `pending = 1\n  and update_id > (select coalesce(confirmed_to, 0)',
    'export const WAITING = `pending = 1\n  and update_id > (select 0',
  ),
  defect(
    backlog,
    'dropped updates are sent until their rows change',
    'export const DELIVERABLE = `update_id > (select coalesce(confirmed_to, 0)',
    'export const DELIVERABLE = `update_id > (select 0',
  ),
  defect(
    backlog,
    'a smaller offset takes a confirmation back',
    'Math.max(queue.confirmed_to ?? 0, updateId)',
    'updateId',
  ),
  defect(backlog, 'attempts in flight survive a drop', "  yield* cancelInFlight(botId, 'dropped')\n", ''),
  defect(
    backlog,
    'attempts in flight survive the deletion of the webhook',
    "  yield* cancelInFlight(botId, 'webhook_deleted')\n",
    '',
  ),
  defect(
    backlog,
    'a new webhook gets only the first updates',
    'const last = rows.length < limit ? null :',
    'const last = rows.length >= 0 ? null :',
  ),
  defect(
    backlog,
    'a webhook set again keeps the count of attempts',
    'cancel_reason = null, attempt_count = 0,',
    'cancel_reason = null,',
  ),

  defect(
    updates,
    'a bot with a webhook can poll',
    "  if (yield* hasWebhook(botId)) return refuse('WEBHOOK_ACTIVE', { bot_id: botId })\n",
    '',
  ),
  defect(
    updates,
    'a held poll ignores its token and bot',
    '  if (refusal !== null) return refusal\n  if (yield* hasWebhook(call',
    '  if (yield* hasWebhook(call',
  ),
  defect(updates, 'an offset confirms its own update', 'confirmTo(queue, offset - 1)', 'confirmTo(queue, offset)'),
  defect(
    updates,
    'an expired update is polled',
    'const ALIVE = `(created_at > $2 or',
    'const ALIVE = `(created_at > $2 - 86400000 or',
  ),
  defect(
    updates,
    'polls stop at many expired updates',
    'return last === undefined ? [] : { after: last.update_id }',
    'return last === undefined ? [] : []',
  ),
  defect(
    updates,
    'updates expire after an hour',
    "[now - UNCONFIRMED_UPDATE_RETENTION_MS, limit],\n    'skip',\n  )\n  const keys",
    "[now - 3_600_000, limit],\n    'skip',\n  )\n  const keys",
  ),

  defect(
    outbox,
    'an update of a bot with a webhook has no delivery',
    '  if (isDelivered) {',
    '  if (isDelivered && now < 0) {',
  ),
  defect(
    outbox,
    'update ids have gaps',
    'set last_update_id = last_update_id + 1',
    'set last_update_id = last_update_id + 2',
  ),
  defect(
    outbox,
    'only the first linked bot is notified',
    'linked.filter((queue) => isWanted(type, queue.allowed_updates))',
    'linked.slice(0, 1)',
  ),
  defect(webhooks, 'a changed webhook is not stored', 'change.changed ? yield* save', 'was === null ? yield* save'),

  defect(
    signing,
    'the old secret signs after its grace period',
    'oldSecret !== null && (row.old_secret_until ?? 0) > now ?',
    'oldSecret !== null ?',
  ),
  defect(signing, 'the old secret does not sign', '? [secret, oldSecret] : [secret]', '? [secret] : [secret]'),
  defect(
    signing,
    'only the old secret signs during its grace period',
    '? [secret, oldSecret] : [secret]',
    '? [oldSecret] : [secret]',
  ),

  defect(polls, 'a poll does not know of the newer one', '      older.superseded = true\n', ''),
  defect(polls, 'a poll is not woken by the newer one', "      older.wake?.('superseded')\n", ''),
  defect(
    polls,
    'the end of a poll removes the newer one',
    'if (this.#open.get(botId) === held) this.#open.delete(botId)',
    'this.#open.delete(botId)',
  ),
  defect(polls, 'a change between read and wait is missed', '    held.changed = true\n', ''),
  defect(polls, 'a change does not wake a waiting poll', "    held.wake?.('changed')\n", ''),
  defect(
    polls,
    'a stop does not end polls',
    "    this.#closed = true\n    for (const held of this.#open.values()) held.wake?.('closed')\n",
    '',
  ),

  defect(
    runtime,
    'an older poll returns updates',
    "if (poll.superseded || found === 'superseded') return refuse",
    "if (found === 'superseded') return refuse",
  ),
  defect(runtime, 'a poll stays registered after its end', '        poll.end()\n', ''),

  defect(
    setting,
    'a webhook is set during a poll',
    "    if (inEffect === null && (yield* isPolledNow(polls, botId))) return refuse('POLLING_ACTIVE')\n",
    '',
  ),

  defect(
    bots,
    'the old token is not revoked',
    'set revoked_at = $2 where bot_id = $1 and revoked_at is null',
    'set revoked_at = null where bot_id = $1 and $2 < 0',
  ),
  defect(
    bots,
    'a replaced token wakes no poll',
    "  yield* run('update bots set updated_at = $2 where id = $1', [botId, now])\n  yield* notify(botId)\n",
    "  yield* run('update bots set updated_at = $2 where id = $1', [botId, now])\n",
  ),
  defect(
    caller,
    'the token of a disabled bot works',
    "  if (row.bot_status !== 'active') return refuse('BOT_DISABLED', { bot_id: row.bot_id })\n",
    '',
  ),

  defect(
    sweeper,
    'deliveries are deleted early',
    'deleteOldDeliveries(now - DELIVERY_RETENTION_MS',
    'deleteOldDeliveries(now - 3_600_000',
  ),
  defect(sweeper, 'a sweep ends after its first rows', 'if (deleted < DELETED_PER_WRITE) return', 'return'),
  defect(
    sweeper,
    'idempotency records are not swept',
    '  (now) => deleteExpiredRecords(now, DELETED_PER_WRITE),\n',
    '',
  ),

  defect(
    idempotency,
    'a record is never replayed',
    '  if (record === undefined || (record',
    "  if (record === undefined || fingerprint !== '' || (record",
  ),
  defect(
    idempotency,
    'records live a day',
    'export const IDEMPOTENCY_LIFETIME_MS = 30 * DAY_MS',
    'export const IDEMPOTENCY_LIFETIME_MS = DAY_MS / 24',
  ),
  defect(
    records,
    'records are deleted before they expire',
    'and expires_at <= $1 order by',
    'and expires_at <= $1 + 2591000000 order by',
  ),

  defect(
    vouchers,
    'a voucher is redeemed again',
    '  if (refusal !== null) return (yield* replayRedeem(call)) ?? { ...refusal, voucherId: voucher.id }\n',
    '',
  ),
  defect(
    vouchers,
    'a redemption is reversed again',
    '  if (refusal !== null) return (yield* replayReverse(call)) ?? { ...refusal, voucherId: found.voucher_id }\n',
    '',
  ),
  defect(vouchers, 'issued vouchers are not counted', '      countIssued(call),\n', ''),

  defect(voucher, 'an expired voucher is redeemed', "  if (now >= voucher.valid_until) return 'expired'\n", ''),

  defect(
    keys,
    'a replaced key is never destroyed',
    'return grace_until !== null && (now >= grace_until ||',
    'return grace_until !== null && (now < 0 ||',
  ),
  defect(keys, 'a replaced key is refused immediately', 'grace_until: now + KEY_GRACE_MS }', 'grace_until: now }'),
  defect(keys, 'the next key is accepted', "it.key.kid === kid && it.state !== 'next'", 'it.key.kid === kid'),
  defect(
    keys,
    'a rotation is not stored',
    '    this.#file.write(`${JSON.stringify(file, null, 2)}\\n`)\n',
    '    if (this.#file.read() === null) this.#file.write(`${JSON.stringify(file, null, 2)}\\n`)\n',
  ),

  defect(
    listen,
    'a stop ignores deliveries in flight',
    'await Promise.all([app.close(), deliveries.stop(closeMsMax)])',
    'await app.close()',
  ),
  defect(upkeep, 'a sweep is not started', '    void this.#sweeper.start(now)\n', ''),
  defect(upkeep, 'backlogs are not applied', '    void this.#backlogs.start(this.#deps.clock.now())\n', ''),

  defect(sqlite, 'cached rows outlive a write', '        this.#memo?.written(statement.sql)\n', ''),
  defect(
    sqlite,
    'a failed operation is committed with its batch',
    "      this.#db.exec('rollback; begin immediate')\n",
    '',
  ),
  defect(sqlite, 'notices are not sent', '        for (const subject of outcome.subjects) this.#notify(subject)\n', ''),
]
