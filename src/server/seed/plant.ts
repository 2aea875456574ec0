import type { Refusal } from '../../contract/errors.js'
import { newApplication, newToken } from '../../domain/application.js'
import { appliedBot, decideBot } from '../../domain/bot/bot.js'
import type { BotRow } from '../../domain/bot/rows.js'
import { decideReview, decideSubmit, draftTemplate, type TemplateRow } from '../../domain/template.js'
import { hashToken, tokenPrefixOf } from '../../domain/tokens.js'
import { chosenTypes } from '../../domain/update.js'
import { readValidity } from '../../domain/validity.js'
import { type Difference, plant, type SeedRows } from '../../store/seed.js'
import type { Store } from '../../store/store.js'
import type { Seed, SeedBot, SeedTemplate } from './schema.js'
import { type Making, voucherCalls } from './vouchers.js'

/** Thrown for a store with other rows than the seed: planting would mix two sets of data. */
class SeedRefused extends Error {
  override readonly name = 'SeedRefused'
  readonly code = 'STORE_NOT_EMPTY'
}

/** Maximum differences that a message names; the rest is only counted. */
const NAMED_MAX = 5

/**
 * Writes the records of a valid seed into an empty store in one transaction; changes nothing in a store that already
 * has these records (rules/server.md#seeds).
 * @throws SeedRefused
 */
export async function plantSeed(store: Store, seed: Seed, now: number, by: Making): Promise<'planted' | 'present'> {
  const rows = seedRows(seed, now, by)
  const { planted, differences } = await store.write(() => plant(rows))
  if (planted) return 'planted'
  if (differences.length === 0) return 'present'
  const named = differences.slice(0, NAMED_MAX).map(wordsOf).join(', ')
  const more = differences.length > NAMED_MAX ? ` and ${differences.length - NAMED_MAX} more` : ''
  throw new SeedRefused(`The store is not empty and does not hold the seed: ${named}${more}.`)
}

const wordsOf = ({ id, columns }: Difference) =>
  columns === undefined ? `${id} is missing` : `${id} has another ${columns.join(' and ')}`

/** Returns the rows of a valid seed. */
export function seedRows({ account, applications = [], bots = [] }: Seed, now: number, by: Making): SeedRows {
  return {
    applications: applications.map((it) => newApplication(it.id, it.account ?? account, it, now)),
    tokens: applications.flatMap(({ id, tokens = [] }) =>
      tokens.map((it) => newToken(it.id, id, { ...it, days: it.expires_in_days ?? null }, now)),
    ),
    templates: applications.flatMap((of) =>
      (of.templates ?? []).map((it) => templateRow(it, of.id, of.account ?? account, now)),
    ),
    vouchers: applications.flatMap((of) => (of.vouchers ?? []).map((it) => voucherCalls(it, of, now, by))),
    bots: bots.map((it) => botRow(it, it.account ?? account, now)),
    bot_tokens: bots.flatMap(({ id, token }) =>
      token === undefined ? [] : [{ token_hash: hashToken(token), bot_id: id, created_at: now, revoked_at: null }],
    ),
    update_queues: bots.map((bot) => ({
      bot_id: bot.id,
      last_update_id: 0,
      allowed_updates: chosenTypes(bot.allowed_updates, null),
    })),
  }
}

function templateRow(bot: SeedTemplate, applicationId: string, accountId: string, now: number): TemplateRow {
  const validity = readValidity(bot.validity)
  if (!validity.ok) throw new RangeError(`the validity of ${bot.id} was not checked`)
  const owner = { application_id: applicationId, account_id: accountId, bot_id: null }
  const draft: TemplateRow = { ...owner, ...draftTemplate(bot, validity.validity, bot.id, now) }
  if (bot.status === 'draft') return draft
  const submitted = accepted(decideSubmit(draft, undefined, now))
  return bot.status === 'reviewing' ? submitted : accepted(decideReview(submitted, { approve: true }, now))
}

function botRow(bot: SeedBot, accountId: string, now: number): BotRow {
  const applied = appliedBot(bot.id, accountId, bot, now)
  if (bot.review_status === 'pending') return applied
  return {
    ...accepted(decideBot(applied, 'approve', now)),
    token_prefix: bot.token === undefined ? null : tokenPrefixOf(bot.token),
    application_id: bot.application_id ?? null,
    linked_at: bot.application_id === undefined ? null : now,
  }
}

/** Returns the row of a decision. A refusal would be a bug, because the record is new. */
function accepted<R extends object>(decided: R | Refusal): R {
  if ('ok' in decided) throw new RangeError(`a new record was refused: ${decided.code}`)
  return decided
}
