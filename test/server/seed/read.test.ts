import { describe, expect, test } from 'vitest'
import { checkSeed, readSeed } from '../../../src/server/seed/read.js'
import type { Seed } from '../../../src/server/seed/schema.js'
import { seed, seedBotToken, seedToken } from '../../support/server/seed.js'
import { withOtherEnd } from '../../support/with-other-end.js'

/** The messages of a seed text, with their lines. */
async function problemsOf(text: string): Promise<string[]> {
  const read = await readSeed(text)
  return read.ok ? [] : read.problems.map(({ line, column, message }) => `${line}:${column} ${message}`)
}

/** A deep copy of the seed that `change` has changed. */
function changed(change: (copy: Required<Seed>) => unknown): unknown {
  const copy = structuredClone(seed) as Required<Seed>
  change(copy)
  return copy
}

const issuesOf = (value: unknown) => {
  const checked = checkSeed(value)
  return checked.ok ? [] : checked.issues.map(({ pointer, message }) => `${pointer} ${message}`)
}

describe('readSeed', () => {
  test('readSeed() reads the same seed from YAML and from JSON', async () => {
    const { stringify } = await import('yaml')
    expect(await readSeed(JSON.stringify(seed))).toEqual({ ok: true, seed })
    expect(await readSeed(stringify(seed))).toEqual({ ok: true, seed })
  })

  test('readSeed() names line and column of every mistake, in the order of the file', async () => {
    const text = [
      'account: acme',
      'applications:',
      '  - id: shop',
      '    name: Coffee shop',
      '    nam: x',
      '    tokens:',
      '      - { id: tok_1, name: till, token: x }',
      'bots:',
      '  - id: bot_1',
      '    username: Coffee',
    ].join('\n')
    expect(await problemsOf(text)).toEqual([
      '3:5 applications[0].id must be app_ and 1 to 40 of A-Z a-z 0-9 _ -.',
      '5:5 applications[0].nam is not known here (did you mean name?).',
      '7:9 applications[0].tokens[0].scopes is required.',
      '9:5 bots[0].name is required.',
      '10:5 bots[0].username must be 3 to 64 of a-z 0-9 _, starting with a letter.',
    ])
  })

  test.each([
    ['a: [1', /^1:6 /],
    ['account: acme\naccount: other', /^2:1 Map keys must be unique\.$/],
    ['', /^1:1 The file must be object\.$/],
    ['a: &a [*a]', /^1:1 /],
    [`${Array.from({ length: 20 }, (_, n) => `${'- '.repeat(n)}x`).join('\n')}`, /^\d+:\d+ /],
  ])('readSeed() refuses the text %j with a place', async (text, expected) => {
    expect((await problemsOf(text))[0]).toMatch(expected)
  })

  test('readSeed() shows no token in a message, even if it is in a wrong place', { tags: 'seeds/4' }, async () => {
    for (const text of [`account: acme\n${seedToken}: x`, `account: acme\n  ${seedToken}`, `{"${seedBotToken}": [}`]) {
      const problems = (await problemsOf(text)).join('\n')
      expect(problems).not.toBe('')
      expect(problems).not.toMatch(/(sop|sbot)_\w{4}/)
    }
  })
})

describe('vouchers of a seed', () => {
  const until = (validity: string, vouchers: string[]) => [
    'account: acme',
    'applications:',
    '  - id: app_1',
    '    name: Shop',
    '    templates:',
    `      - { id: tpl_1, external_template_id: t1, name: T, type: gift, issuer_name: I, fulfiller_name: F,`,
    `          fulfillment_category: offline_service, acquisition_source: free_claim, issue_limit: 3,`,
    `          validity: ${validity} }`,
    '    vouchers:',
    ...vouchers.map((it) => `      - { recipient_user_id: u1, ${it} }`),
  ]
  const relative = '{ type: relative, duration_days: 30, delay_days: 2 }'
  const fixed = (from: number, to: number) =>
    `{ type: fixed, starts_at: '${from}-01-01T00:00:00Z', ends_at: '${to}-01-01T00:00:00Z' }`
  const statuses = ['issued', 'redeemed', 'reversed', 'expired']

  test('readSeed() names line, column and member of each malformed voucher', { tags: 'seeds/2' }, async () => {
    const lines = until(relative, [
      'template_id: tpl_1, external_issue_id: a',
      'template_id: tpl_1, external_issue_id: a',
      'template_id: tpl_2, external_issue_id: a',
      'template_id: tpl_1, external_issue_id: b',
      'template_id: tpl_1, external_issue_id: c',
    ])
    expect(await problemsOf(lines.join('\n'))).toEqual([
      '7:82 applications[0].templates[0].issue_limit must be at least 4, the number of its vouchers.',
      '11:54 applications[0].vouchers[1].external_issue_id is taken by an earlier record.',
      '12:34 applications[0].vouchers[2].template_id must be the id of an active template of the application.',
    ])
    const unknown = until(relative, ['template_id: tpl_1, external_issue_id: a, status: used, state: x'])
    expect(await problemsOf(unknown.join('\n'))).toEqual([
      expect.stringMatching(/^10:76 applications\[0\]\.vouchers\[0\]\.status must be /),
      expect.stringMatching(/^10:90 applications\[0\]\.vouchers\[0\]\.state is not known here/),
    ])
  })

  test.each([
    ['a relative validity', relative, statuses],
    ['a window that has ended', fixed(2001, 2002), statuses],
    ['a window that is open', fixed(2001, 2901), ['issued', 'redeemed', 'reversed']],
    ['a window in the future', fixed(2900, 2901), ['issued']],
  ])('readSeed() accepts with %s only statuses that calls can reach', async (_, validity, expected) => {
    const accepted = []
    for (const status of statuses) {
      const text = until(validity, [`template_id: tpl_1, external_issue_id: a, status: ${status}`]).join('\n')
      const problems = await problemsOf(text)
      if (problems.length === 0) accepted.push(status)
      else
        expect(problems).toEqual([
          '10:76 applications[0].vouchers[0].status must be a status that the validity of tpl_1 allows now.',
        ])
    }
    expect(accepted).toEqual(expected)
  })
})

describe('checkSeed', () => {
  test('checkSeed() accepts a seed with a record of each kind, and one without records', () => {
    expect(checkSeed(seed)).toEqual({ ok: true, seed })
    expect(checkSeed({ account: 'acme' }).ok).toBe(true)
  })

  test('checkSeed normalises text to Unicode NFC, as the API does for requests', () => {
    const checked = checkSeed({ account: 'a', applications: [{ id: 'app_1', name: 'Cafe\u0301' }] })
    expect(checked.ok && checked.seed.applications?.[0]?.name).toBe('Caf\u00e9')
  })

  test.each<[string, (copy: Required<Seed>) => unknown, string]>([
    [
      'a wrong checksum',
      ({ applications: [it] }) => Object.assign(it?.tokens?.[0] ?? {}, { token: withOtherEnd(seedToken) }),
      `/applications/0/tokens/0/token must end with its checksum, the 6 characters ${seedToken.slice(-6)}`,
    ],
    [
      'a token of the other kind',
      ({ bots: [it] }) => Object.assign(it ?? {}, { token: seedToken }),
      '/bots/0/token must be sbot_, 30 letters and digits, and their checksum of 6',
    ],
    [
      'one token of two records',
      ({ applications: [it] }) => it?.tokens?.push({ ...it.tokens[0], id: 'tok_2' } as never),
      '/applications/0/tokens/1/token is taken by an earlier record',
    ],
    [
      'an id of two records',
      ({ applications }) => applications.push({ id: 'app_coffee', name: 'Other' }),
      '/applications/1/id is taken by an earlier record',
    ],
    [
      'an external id of two templates',
      ({ applications: [it] }) => Object.assign(it?.templates?.[1] ?? {}, { external_template_id: 'coffee-1' }),
      '/applications/0/templates/1/external_template_id is taken by an earlier record',
    ],
    [
      'a username of two bots',
      ({ bots: [, it] }) => Object.assign(it ?? {}, { username: 'coffee_bot' }),
      '/bots/1/username is taken by an earlier record',
    ],
    [
      'a scope twice',
      ({ bots: [it] }) => it?.scopes?.push('messages:send'),
      '/bots/0/scopes must name each scope once',
    ],
    [
      'a validity that ends before it starts',
      ({ applications: [it] }) =>
        Object.assign(it?.templates?.[0] ?? {}, {
          validity: { type: 'fixed', starts_at: '2027-01-02T00:00:00Z', ends_at: '2027-01-01T00:00:00Z' },
        }),
      '/applications/0/templates/0/validity/ends_at must be after starts_at',
    ],
    [
      'an unknown application',
      ({ bots: [it] }) => Object.assign(it ?? {}, { application_id: 'app_tea' }),
      '/bots/0/application_id must be the id of an application of the seed',
    ],
    [
      'an application of another account',
      ({ bots: [it] }) => Object.assign(it ?? {}, { account: 'other' }),
      '/bots/0/application_id must be an application of the account of the bot',
    ],
    [
      'a pending bot with a token',
      ({ bots: [it] }) => Object.assign(it ?? {}, { review_status: 'pending' }),
      '/bots/0/review_status must be approved for a bot with a token or an application',
    ],
    [
      'an avatar that is no URL',
      ({ bots: [it] }) => Object.assign(it ?? {}, { avatar: 'https://[' }),
      '/bots/0/avatar must be an https URL',
    ],
    [
      'more applications than an account may have',
      ({ applications }) => {
        for (let n = 0; n < 50; n++) applications.push({ id: `app_${n}`, name: 'One of many' })
      },
      '/applications must have at most 50 records of account acme',
    ],
  ])('checkSeed() refuses %s', (_, change, expected) => {
    expect(issuesOf(changed(change))).toEqual([expected])
  })
})
