import type { BotMetrics } from '../../contract/bots.js'
import type { ValidationIssue } from '../../contract/envelope.js'
import type { BotPatch } from '../../domain/bot/bot.js'
import { formatInstant } from '../../domain/time.js'
import { makeToken } from '../../domain/tokens.js'
import * as bots from '../../store/bots/bots.js'
import * as calls from '../../store/bots/calls.js'
import * as templates from '../../store/bots/templates.js'
import type { MakeSome } from '../handler.js'
import type { LimitVerdict } from '../limits.js'
import { draftOf, validityIssues } from './templates.js'
import { duplicateScopes, unlessUnavailable } from './tokens.js'

/** Members of a bot's profile with URLs, which the schema's pattern checks only in part. */
type WithUrls = Pick<BotPatch, 'avatar' | 'cover_url' | 'links' | 'contact'>

function urlIssues({ avatar, cover_url, links = [], contact }: WithUrls): ValidationIssue[] {
  const urls: [string, string | null | undefined][] = [
    ['/avatar', avatar],
    ['/cover_url', cover_url],
    ...links.map(({ url }, index): [string, string] => [`/links/${index}/url`, url]),
    ['/contact/url', contact?.url],
  ]
  return urls.flatMap(([pointer, url]) =>
    typeof url !== 'string' || URL.canParse(url) ? [] : [{ pointer, code: 'format', message: 'must be an https URL' }],
  )
}

/** Shows a rate-limit window. A window starts with its first call, so an unused window has no reset time. */
function quotaOf(window: LimitVerdict | null, now: number): BotMetrics['quota'] {
  if (window === null) return { limit: null, used: 0, remaining: null, reset_at: null }
  const { policy, remaining, resetSeconds } = window
  const used = policy.calls - remaining
  const resetAt = used === 0 ? null : formatInstant(now + resetSeconds * 1000)
  return { limit: policy.calls, used, remaining, reset_at: resetAt }
}

export const botConsoleHandlers = (({ clock, random, newId, autoApprove, botCalls, limits }, { read, write }) => ({
  apply: {
    check: (application) => [...urlIssues(application), ...duplicateScopes(application.scopes ?? [])],
    handle: async (application, { caller }) => {
      const id = newId('bot')
      return write(() => bots.apply(caller.accountId, id, application, clock.now(), autoApprove))
    },
  },

  list: (page, { caller }) => read(() => bots.list(caller.accountId, page)),

  get: async ({ botId }, { caller, hidesSecrets }) => {
    const found = await read(() => bots.get(caller.accountId, botId))
    if (!found.ok || !bots.needsFirstToken(found.data) || hidesSecrets) return found
    const token = makeToken('sbot_', random)
    return write(() => bots.showToken(caller.accountId, botId, token, clock.now()))
  },

  update: {
    check: urlIssues,
    handle: ({ botId, ...patch }, { caller }) => write(() => bots.update(caller.accountId, botId, patch, clock.now())),
  },

  regenerateToken: async ({ botId }, { caller }) => {
    const token = makeToken('sbot_', random)
    return write(() => bots.regenerateToken(caller.accountId, botId, token, clock.now()))
  },

  metrics: async ({ botId }, { caller }) => {
    await botCalls.flush().catch(unlessUnavailable)
    const now = clock.now()
    const stored = await read(() => calls.metrics(caller.accountId, botId, now))
    if (!stored.ok) return stored
    return { ok: true, data: { ...stored.data, quota: quotaOf(limits.peek('bot_calls', botId), now) } }
  },

  templates: ({ botId, ...filter }, { caller }) => read(() => templates.list(caller.accountId, botId, filter)),

  createTemplate: {
    check: validityIssues,
    handle: async ({ botId, ...input }, { caller }) => {
      const draft = draftOf(input, newId('tpl'), clock.now())
      if ('ok' in draft) return draft
      return write(() => templates.create(caller.accountId, botId, draft))
    },
  },

  submitTemplate: ({ botId, templateId }, { caller }) =>
    write(() => templates.submit(caller.accountId, botId, templateId, clock.now(), autoApprove)),
})) satisfies MakeSome<'bots'>
