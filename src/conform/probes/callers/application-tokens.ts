import { contract } from '../../../contract/index.js'
import type { CreatedToken, Token } from '../../../contract/tokens.js'
import { DAY_MS } from '../../../values/duration.js'
import { application } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { createOwnToken, fullToken, revokeAll } from './shared.js'

const probe = probesOf('application-tokens', { kind: 'credential', needs: ['jwt'] })
const { templates, tokens } = contract
const ACTIVE_MAX = 20
const WRITTEN_AFTER_MS = 61_000

const lifetimeOf = ({ createdAt, expiresAt }: Token) =>
  expiresAt === null ? null : (Date.parse(expiresAt) - Date.parse(createdAt)) / DAY_MS

function revoked(run: ProbeContext) {
  return run.resources.once('revoked token', async () => {
    const { id: appId } = await application(run)
    const created = run.needs(await createOwnToken(run), 'a token')
    const as = { credential: created.token }
    run.needs(await run.call(templates.list, {}, { as }), 'a token that works')
    const record = run.needs(await run.call(tokens.revoke, { appId, tokenId: created.id }), 'a revoked token')
    return { as, record, input: { appId, tokenId: created.id } }
  })
}

async function listed(run: ProbeContext): Promise<Observed<{ readonly items: Token[] }>> {
  const { id: appId } = await application(run)
  const list = await run.call(tokens.list, { appId, limit: 100 })
  run.needs(list, 'a list of tokens')
  return list
}

const waiting = probe.with({ waitsMs: WRITTEN_AFTER_MS })

export const applicationTokens = [
  probe.specified(1, 'shown-once', 'The list of tokens contains a new token without its value.', async (run) => {
    const { id, token } = await fullToken(run)
    const { data, text } = await listed(run)
    const isListed = data.items.some((item) => item.id === id)
    run.holds(isListed, 'the new token in the list', 'none')
    run.holds(!text.includes(token), 'a list without the value of the token', 'its value')
  }),
  probe.specified(1, 'revoked', 'A revoked token is 401.', async (run) => {
    const { as } = await revoked(run)
    run.refuses(await run.call(templates.list, {}, { as }), 401)
  }),
  probe(3, 'revoked-twice', 'Revoking a token twice returns the same record.', async (run) => {
    const { record, input } = await revoked(run)
    run.equals('record', run.accepts(await run.call(tokens.revoke, input)), record)
  }),
  probe(2, 'name', 'A token needs a name: 400 without one.', async (run) => {
    run.refuses(await createOwnToken(run, { name: undefined }), 400)
  }),
  probe(2, 'scopes', 'A token needs scopes: 400 without the member and for an empty list.', async (run) => {
    run.refuses(await createOwnToken(run, { scopes: undefined }), 400)
    run.refuses(await createOwnToken(run, { scopes: [] }), 400)
  }),
  ...[0, 366].map((days) =>
    probe(2, `lifetime-of-${days}`, `A token with a lifetime of ${days} days is refused with 400.`, async (run) => {
      run.refuses(await createOwnToken(run, { expires_in_days: days }), 400)
    }),
  ),
  ...(
    [
      ['of-1', 'A token may have a lifetime of 1 day.', 1, 1],
      ['of-365', 'A token may have a lifetime of 365 days.', 365, 365],
      ['by-default', 'A token has a lifetime of 365 days by default.', undefined, 365],
      ['null', 'A token with the lifetime null does not expire.', null, null],
    ] as const
  ).map(([name, title, days, expected]) =>
    probe(2, `lifetime-${name}`, title, async (run) => {
      const token = run.accepts(await createOwnToken(run, { expires_in_days: days }))
      run.equals('lifetime in days', lifetimeOf(token), expected)
      await revokeAll(run, [token])
    }),
  ),
  probe(2, 'limit-of-20', 'An application has at most 20 active tokens: one more is 409.', async (run) => {
    const { data } = await listed(run)
    let active = data.items.filter(({ status }) => status === 'active').length
    if (active >= ACTIVE_MAX) run.notApplicable('Needs an application with fewer than 20 tokens.')
    const made: CreatedToken[] = []
    try {
      for (; active < ACTIVE_MAX; active += 1) made.push(run.accepts(await createOwnToken(run)))
      const next = await createOwnToken(run)
      if (next.fault === undefined) made.push(next.data)
      run.refuses(next, 409)
    } finally {
      await revokeAll(run, made)
    }
  }),
  waiting(3, 'last-used-at', 'A minute after the use of a token, its record says when it was used.', async (run) => {
    const { id, token } = await fullToken(run)
    run.needs(await run.call(templates.list, {}, { as: { credential: token } }), 'a token that works')
    await run.resources.pause(WRITTEN_AFTER_MS)
    const { data } = await listed(run)
    const { lastUsedAt } =
      data.items.find((item) => item.id === id) ?? run.notApplicable('Needs the token in the list.')
    run.holds(typeof lastUsedAt === 'string', 'a time in lastUsedAt', lastUsedAt)
  }),
]
