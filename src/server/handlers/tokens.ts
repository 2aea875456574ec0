import type { ValidationIssue } from '../../contract/envelope.js'
import { newToken, TOKEN_LIFETIME_DAYS } from '../../domain/application.js'
import { makeToken } from '../../domain/tokens.js'
import { StoreUnavailable } from '../../store/store.js'
import * as tokens from '../../store/tokens.js'
import type { MakeHandlers } from '../handler.js'

/** Ignores a failed flush of token uses: a store that cannot write may still read, without the most recent uses. */
export function unlessUnavailable(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error
}

/** Reports duplicate scopes. `uniqueItems` in the schema would be quadratic in a list of unbounded length. */
export function duplicateScopes(scopes: readonly string[]): ValidationIssue[] {
  if (new Set(scopes).size === scopes.length) return []
  return [{ pointer: '/scopes', code: 'uniqueItems', message: 'must name each scope once' }]
}

export const tokenHandlers: MakeHandlers<'tokens'> = ({ clock, random, newId, tokenUses }, { read, write }) => ({
  list: async ({ appId, ...page }, { caller }) => {
    await tokenUses.flush().catch(unlessUnavailable)
    return read(() => tokens.list(caller.accountId, appId, page, clock.now()))
  },

  create: {
    check: ({ scopes }) => duplicateScopes(scopes),
    handle: async ({ appId, name, scopes, expires_in_days: typed }, { caller }) => {
      const days = typed === undefined ? TOKEN_LIFETIME_DAYS : typed
      const token = makeToken('sop_', random)
      const now = clock.now()
      const row = newToken(newId('tok'), appId, { name, token, scopes, days }, now)
      const created = await write(() => tokens.create(caller.accountId, row, now))
      return created.ok ? { ok: true, data: { ...created.data, token } } : created
    },
  },

  revoke: ({ appId, tokenId }, { caller }) => write(() => tokens.revoke(caller.accountId, appId, tokenId, clock.now())),
})
