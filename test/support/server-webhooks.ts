import { type Op, notify, run } from '../../src/store/operation.js'

/** Puts a webhook where none is: what a test of something else needs of one. */
export function* plantWebhook(botId: string): Op<void> {
  yield* run(
    `insert into webhooks (bot_id, url, origin, secret, allowed_ips, max_connections, failing, set_at)
     values ($1, '', 'https://hook.example', '', '[]', 40, 0, 0)`,
    [botId],
  )
  yield* notify(botId)
}
