import type { Bot, BotDetail, BotProfile, bots } from '../../contract/bots.js'
import type { BotScope, InputOf } from '../../contract/endpoint.js'
import { type Refusal, refuse } from '../../contract/errors.js'
import { canonicalJson } from '../idempotency.js'
import { formatInstant } from '../time.js'
import { type PublicWebhookRow, webhookSettings } from '../webhook.js'
import type { BotRow } from './rows.js'

/** Maximum of bots per account (rules/bots.md#bot-records). */
export const BOTS_PER_ACCOUNT = 20
const DEFAULT_SCOPES: readonly BotScope[] = ['messages:send', 'messages:receive']

/** Converts a row to the bot record. @param hasWebhook false for a bot that uses polling */
export function botRecord(row: BotRow, hasWebhook: boolean): Bot {
  return {
    id: row.id,
    name: row.name,
    username: row.username,
    review_status: row.review_status,
    review_note: row.review_note,
    status: row.status,
    scopes: JSON.parse(row.scopes),
    has_token: row.token_prefix !== null,
    token_prefix: row.token_prefix,
    delivery_mode: hasWebhook ? 'webhook' : 'polling',
    application_id: row.application_id,
    created_at: formatInstant(row.created_at),
    updated_at: formatInstant(row.updated_at),
  }
}

/** Converts a row to the detailed bot record. @param allowedUpdates JSON of the update queue; null for the default */
export function botDetail(
  row: BotRow,
  webhook: PublicWebhookRow | undefined,
  allowedUpdates: string | null,
): BotDetail {
  return {
    ...botRecord(row, webhook !== undefined),
    profile: JSON.parse(row.profile),
    webhook: webhook === undefined ? null : webhookSettings(webhook, allowedUpdates),
    command_menus: JSON.parse(row.command_menus),
  }
}

export type BotDecision = 'approve' | 'disable' | 'enable' | { readonly reject: string }

/** Decides: pending -> approved and active, or rejected; active <-> disabled (rules/bots.md#bot-states). */
export function decideBot(row: BotRow, decision: BotDecision, now: number): BotRow | Refusal<'BOT_STATE_CONFLICT'> {
  const change = changeBy(row, decision)
  if (change === null) return refuse('BOT_STATE_CONFLICT', { review_status: row.review_status, status: row.status })
  return { ...row, ...change, updated_at: now }
}

function changeBy({ review_status, status }: BotRow, decision: BotDecision): Partial<BotRow> | null {
  if (decision === 'disable') return status === 'active' ? { status: 'disabled' } : null
  if (decision === 'enable') return status === 'disabled' ? { status: 'active' } : null
  if (review_status !== 'pending') return null
  if (decision === 'approve') return { review_status: 'approved', status: 'active' }
  return { review_status: 'rejected', review_note: decision.reject }
}

/** Refuses a bot that is not approved, as most console calls do; null for an approved bot. */
export function refuseUnapproved({ review_status }: BotRow): Refusal<'BOT_NOT_APPROVED'> | null {
  return review_status === 'approved' ? null : refuse('BOT_NOT_APPROVED', { review_status })
}

/** Checks a template call of a bot's owner; null if the call is allowed (rules/vouchers.md#bot-side-templates). */
export function refuseTemplateCall(
  row: BotRow,
  scope: BotScope,
): Refusal<'BOT_NOT_APPROVED' | 'BOT_DISABLED' | 'INSUFFICIENT_SCOPE'> | null {
  const unapproved = refuseUnapproved(row)
  if (unapproved !== null) return unapproved
  if (row.status !== 'active') return refuse('BOT_DISABLED', { bot_id: row.id })
  return row.scopes.includes(`"${scope}"`) ? null : refuse('INSUFFICIENT_SCOPE', { required_scope: scope })
}

export type BotApplication = InputOf<typeof bots.apply>

/** A new bot that waits for review, without a token or a linked application. */
export function appliedBot(id: string, accountId: string, application: BotApplication, now: number): BotRow {
  const profile: BotProfile = {
    avatar: application.avatar ?? null,
    description: application.description ?? null,
    short_description: null,
    about: null,
    cover_url: null,
    links: [],
    contact: {},
    supports_inline_queries: false,
    friend_request_mode: 'manual',
    group_privacy: true,
  }
  return {
    id,
    account_id: accountId,
    name: application.name,
    username: application.username,
    review_status: 'pending',
    review_note: null,
    status: 'inactive',
    scopes: JSON.stringify(application.scopes ?? DEFAULT_SCOPES),
    token_prefix: null,
    profile: canonicalJson(profile),
    command_menus: '[]',
    application_id: null,
    linked_at: null,
    submitted_at: now,
    created_at: now,
    updated_at: now,
  }
}

export type BotPatch = Omit<InputOf<typeof bots.update>, 'botId'>

/** Applies a PATCH, which replaces whole members of the profile. Returns the same row if nothing changes. */
export function patchedBot(row: BotRow, { name, command_menus, ...profile }: BotPatch, now: number): BotRow {
  const patched = {
    ...row,
    name: name ?? row.name,
    profile: canonicalJson({ ...JSON.parse(row.profile), ...profile }),
    command_menus: command_menus === undefined ? row.command_menus : canonicalJson(command_menus),
  }
  const same =
    patched.name === row.name && patched.profile === row.profile && patched.command_menus === row.command_menus
  return same ? row : { ...patched, updated_at: now }
}
