import type { apply, BotProfile, update } from '../../contract/bots.js'
import type { BotScope, InputOf } from '../../contract/endpoint.js'
import { canonicalJson } from '../canonical.js'
import type { BotRow } from './rows.js'

const DEFAULT_SCOPES: readonly BotScope[] = ['messages:send', 'messages:receive']

export type BotApplication = InputOf<typeof apply>

/** A bot that waits for its review, without a token, a link or anything else of its own. */
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

export type BotPatch = Omit<InputOf<typeof update>, 'botId'>

/** What a PATCH makes of a bot: members that it names are replaced whole. The same row when nothing differs. */
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
