import type { ValidationIssue } from '../../contract/envelope.js'
import { makeToken } from '../../domain/tokens.js'
import * as bots from '../../store/bots.js'
import { type Checks, type MakeHandlers, answer } from '../handler.js'
import { notYet } from './not-yet.js'
import { namedOnce } from './tokens.js'

type Console =
  | 'apply'
  | 'list'
  | 'get'
  | 'update'
  | 'regenerateToken'
  | 'metrics'
  | 'templates'
  | 'createTemplate'
  | 'submitTemplate'

/** The members of a bot's profile that hold a URL, as far as their pattern cannot judge it. */
interface WithUrls {
  readonly avatar?: string | null
  readonly cover_url?: string | null
  readonly links?: readonly { readonly url: string }[]
  readonly contact?: { readonly url?: string }
}

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

export const botChecks: Checks = {
  'bots.apply': (body: WithUrls & { scopes?: readonly string[] }) => [
    ...urlIssues(body),
    ...namedOnce(body.scopes ?? []),
  ],
  'bots.update': urlIssues,
}

/** What the owner of a bot does in the console (interface.md, D). */
export const botConsoleHandlers: (
  deps: Parameters<MakeHandlers<'bots'>>[0],
) => Pick<ReturnType<MakeHandlers<'bots'>>, Console> = ({ store, clock, random, newId, autoApprove }) => ({
  apply: async (application, { caller }) => {
    const id = newId('bot')
    return answer(await store.write(() => bots.apply(caller.accountId, id, application, clock.now(), autoApprove)))
  },

  list: async (page, { caller }) => answer(await store.read(() => bots.list(caller.accountId, page))),

  get: async ({ botId }, { caller, isHead }) => {
    const read = answer(await store.read(() => bots.get(caller.accountId, botId)))
    if (!read.ok || !bots.awaitsToken(read.data) || isHead) return read
    const token = makeToken('sbot_', random)
    return answer(await store.write(() => bots.showToken(caller.accountId, botId, token, clock.now())))
  },

  update: async ({ botId, ...patch }, { caller }) =>
    answer(await store.write(() => bots.update(caller.accountId, botId, patch, clock.now()))),

  regenerateToken: async ({ botId }, { caller }) => {
    const token = makeToken('sbot_', random)
    return answer(await store.write(() => bots.regenerateToken(caller.accountId, botId, token, clock.now())))
  },

  metrics: notYet,
  templates: notYet,
  createTemplate: notYet,
  submitTemplate: notYet,
})
