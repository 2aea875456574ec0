const worker = 'src/server/delivery/worker.ts'
const pass = 'src/store/delivery/worker-pass.ts'
const results = 'src/store/delivery/attempt-results.ts'
const claims = 'src/store/delivery/claims.ts'
const backlog = 'src/store/delivery/backlog.ts'
const updates = 'src/store/delivery/updates.ts'
const outbox = 'src/store/outbox.ts'
const webhooks = 'src/store/delivery/webhooks.ts'
const delivery = 'src/domain/delivery.ts'
const webhook = 'src/domain/webhook.ts'
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

/** Deliberate bugs that `node test/simulation/plant.js` plants one at a time; simulations must find each. */
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
    'while (this.#ended.length > 0) {',
    'while (this.#ended.length < 0) {',
  ),
  defect(worker, 'a notice of a bot is ignored', 'isBot(subject) && this.#addBot(subject)', 'isBot(subject) && void 0'),
  defect(
    worker,
    'results of attempts are not kept for the next pass',
    'if (generation === this.#generation) this.#ended.push(ended)',
    'void generation',
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
    'a result that is written already is written again',
    '  if (ended.mayBeWritten && (yield* isWritten(attempt))) return\n',
    '',
  ),
  defect(
    results,
    'any result that may be written counts as written',
    '  return found !== undefined\n}\n\n/** Writes the new',
    '  return found === undefined\n}\n\n/** Writes the new',
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
    'a delivered update stays pending',
    "(after.status === 'delivered' || after.status === 'dead_letter')) {",
    "after.status === 'dead_letter') {",
  ),
  defect(
    results,
    'a late failure marks a replaced webhook as failing',
    'where bot_id = $1 and set_at = $2`',
    'where bot_id = $1 and set_at >= $2`',
  ),
  defect(
    results,
    'failures of the server mark the endpoint as failing',
    '    if (!concernsEndpoint(ended.outcome)) continue\n',
    '',
  ),
  defect(
    results,
    'leases in force are expired',
    '(lease_until <= $1 or lease_until > $2)',
    '(lease_until <= $1 + 30000 or lease_until > $2)',
  ),
  defect(pass, 'expired leases are not looked for', 'if (pass.lostBefore !== null) {', 'if (pass.lostBefore === 0) {'),
  defect(
    pass,
    'retries begin a minute early',
    "yield* markReady('<=', pass.now)) include",
    "yield* markReady('<=', pass.now + 60_000)) include",
  ),
  defect(
    pass,
    'retries never become due',
    "for (const botId of yield* markReady('<=', pass.now)) include(botId)\n",
    '',
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
  defect(claims, 'connections in use are not counted', ' - busy.length\n', '\n'),
  defect(claims, 'claimed chats are not busy', '        busy.push(ready.chat_key)\n', ''),
  defect(claims, 'claims are not counted against the connections', '        free -= 1\n', ''),
  defect(
    claims,
    'the newest delivery goes first',
    '${DELIVERABLE} order by update_id limit $2`),\n    [botId, window]',
    '${DELIVERABLE} order by update_id desc limit $2`),\n    [botId, window]',
  ),
  defect(
    claims,
    'a chat gets several deliveries of one claim',
    'if (chosen.length === free || chats.has(row.chat_key)) continue',
    'if (chosen.length === free) continue',
  ),
  defect(
    claims,
    'a chosen chat is not excluded',
    '      chats.add(row.chat_key)\n      chosen.push(row)',
    '      chosen.push(row)',
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
    'a released claim is released again later',
    "where id = $1 and status = 'delivering' and lease_until = $2 and last_attempt_at = $3`",
    'where id = $1 and $2 <> $3`',
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
  defect(delivery, 'a failure without a lease counts', '  if (!ownsLease) return null\n', ''),
  defect(
    delivery,
    'a repeated success changes the time of delivery',
    'delivered_at: row.delivered_at ?? now',
    'delivered_at: now',
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
  defect(delivery, 'retries wait milliseconds', 'now + delaySeconds * 1000 }', 'now + delaySeconds }'),
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
    'a lease ends before its attempt',
    'export const LEASE_MS = 30_000',
    'export const LEASE_MS = 8_000',
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
    'updates are sent before the backlog reaches them',
    'update_id <= (select coalesce(switched_to, last_update_id)',
    'update_id <= (select last_update_id',
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
    'a manual retry survives the deletion of the webhook',
    "${DELIVERY_KIND} = 'manual'",
    "${DELIVERY_KIND} = 'none'",
  ),
  defect(
    backlog,
    'a backlog of confirmations ends after its first rows',
    'if (ids.length === limit) return { after: queue, left: 0 }',
    'if (ids.length < 0) return { after: queue, left: 0 }',
  ),
  defect(
    backlog,
    'a new webhook gets only the first updates',
    'const last = rows.length < limit ? null :',
    'const last = rows.length >= 0 ? null :',
  ),
  defect(backlog, 'a worker is not woken by the end of a backlog', '    if (isDelivered) yield* notify(botId)\n', ''),
  defect(
    backlog,
    'deliveries of confirmed updates are not cancelled',
    '    if (mayBeDelivered) yield* cancelWaiting(botId, confirmed)\n',
    '',
  ),
  defect(
    backlog,
    'a webhook set again keeps the count of attempts',
    'cancel_reason = null, attempt_count = 0,',
    'cancel_reason = null,',
  ),
  defect(
    backlog,
    'markers of a backlog are not stored',
    'if (markers(after).join() === markers(before).join()) return',
    "if (markers(after).join() !== '') return",
  ),
  defect(
    backlog,
    'a delivery is cancelled but keeps its lease',
    'next_attempt_at = null,\n  lease_until = null, resume_status = null where',
    'next_attempt_at = null,\n  resume_status = null where',
  ),

  defect(
    updates,
    'a bot with a webhook can poll',
    "  if (yield* hasWebhook(botId)) return refuse('WEBHOOK_ACTIVE')\n",
    '',
  ),
  defect(
    updates,
    'a held poll ignores its token and bot',
    '  if (refusal !== null) return refusal\n  if (yield* hasWebhook(call',
    '  if (yield* hasWebhook(call',
  ),
  defect(updates, 'an offset confirms its own update', 'confirmTo(queue, offset - 1)', 'confirmTo(queue, offset)'),
  defect(updates, 'an offset of two confirms nothing', 'if (offset > 1) yield*', 'if (offset > 2) yield*'),
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
    'an attempted update is deleted after a day',
    "created_at <= $1 and not ${attempted('updates')} order",
    'created_at <= $1 order',
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
  defect(outbox, 'an update wakes nobody', '  yield* notify(botId)\n  return body', '  return body'),
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

  defect(
    webhooks,
    'a new webhook gets no waiting updates',
    '  if (inEffect === null) yield* beginDeliveries(queue, webhook)\n',
    '',
  ),
  defect(webhooks, 'a changed webhook is not stored', 'change.changed ? yield* save', 'was === null ? yield* save'),
  defect(webhooks, 'a new webhook wakes nobody', '  if (change.changed || dropped > 0) yield* notify(botId)\n', ''),
  defect(
    webhooks,
    'the replaced secret is not kept for its grace period',
    'oldSecretUntil == null ? null : (was?.secret ?? null)',
    'oldSecretUntil == null ? null : null',
  ),
  defect(
    webhooks,
    'deliveries survive the deletion of the webhook',
    '  if (removed > 0) yield* endDeliveries(queue)\n',
    '',
  ),

  defect(webhook, 'the grace period has milliseconds', 'now + graceSeconds * 1000 : null', 'now + graceSeconds : null'),
  defect(
    webhook,
    'a call without a secret replaces the secret',
    'request.secret ?? previous?.secret ?? newSecret',
    'request.secret ?? newSecret',
  ),
  defect(
    webhook,
    'a replaced secret always has a grace period',
    '(graceSeconds > 0 ? now',
    '(graceSeconds >= 0 ? 60_000 + now',
  ),
  defect(
    webhook,
    'a call without max_connections restores the default',
    'request.maxConnections ?? previous?.maxConnections ?? DEFAULT',
    'request.maxConnections ?? DEFAULT',
  ),

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
    bots,
    'a disabled bot wakes nobody',
    "  if ('ok' in decided) return decided\n  yield* notify(botId)\n",
    "  if ('ok' in decided) return decided\n",
  ),

  defect(caller, 'a revoked bot token works', "  if (row.revoked_at !== null) return refuse('TOKEN_REVOKED')\n", ''),
  defect(
    caller,
    'the token of a disabled bot works',
    "  if (row.bot_status !== 'active') return refuse('BOT_DISABLED')\n",
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
  defect(
    vouchers,
    'a redemption has no idempotency record',
    '    saveRecord(call, { status: 200, subjectId: row.id, data: metadata }, null),\n',
    '',
  ),
  defect(
    vouchers,
    'a reversal does not free the voucher',
    "set state = 'issued', redeemed_at = null, redemption_id = null, updated_at = $4",
    'set updated_at = $4',
  ),
  defect(
    vouchers,
    'a redemption notifies nobody',
    "    notifyLinkedBots(applicationId, 'voucher_redeemed', () => ({ redemption: data }), call),\n",
    '',
  ),
  defect(
    vouchers,
    'a reversal notifies nobody',
    "  yield* notifyLinkedBots(applicationId, 'voucher_reversed', () => ({ redemption: data }), call)\n",
    '',
  ),

  defect(voucher, 'an expired voucher is redeemed', "  if (now >= voucher.valid_until) return 'expired'\n", ''),
  defect(
    voucher,
    'the replay of an issue has the present state',
    "    state: 'issued',\n    redeemed_at: null,",
    '    redeemed_at: null,',
  ),
  defect(
    voucher,
    'the replay of a redemption has a reversal',
    'reversed_at: null, reversal_reason: null }',
    'reversal_reason: null }',
  ),

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
