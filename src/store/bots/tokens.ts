import type { BotCallerRow } from '../../domain/bot/caller.js'
import { type Op, oneKept, run } from '../operation.js'

/** Who calls with a bot token: the token, its bot and the linked application in one row. */
export function* callerByHash(tokenHash: string): Op<BotCallerRow | undefined> {
  return yield* oneKept<BotCallerRow>(
    `select t.revoked_at, b.id as bot_id, b.account_id, b.status as bot_status, b.scopes, b.application_id,
       a.status, a.suspended, a.features, a.secure_transport, a.allowed_origins
     from bot_tokens t join bots b on b.id = t.bot_id left join applications a on a.id = b.application_id
     where t.token_hash = $1`,
    [tokenHash],
  )
}

/** The new token takes the place of the one before, which stops working with this commit. */
export function* replaceToken(botId: string, tokenHash: string, now: number): Op<void> {
  yield* run('update bot_tokens set revoked_at = $2 where bot_id = $1 and revoked_at is null', [botId, now])
  yield* run('insert into bot_tokens (token_hash, bot_id, created_at, revoked_at) values ($1, $2, $3, null)', [
    tokenHash,
    botId,
    now,
  ])
}
