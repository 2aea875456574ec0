import { describe, expect, it } from 'vitest'
import * as yaml from 'yaml'
import { knownRoutes } from '../../../src/cli/command/known-routes.js'
import { parseScenario } from '../../../src/cli/scenario/parse.js'

const routes = await knownRoutes()

const problemsOf = (text: string) => {
  const parsed = parseScenario(text, 'a.yaml', routes, yaml)
  return parsed.ok ? [] : parsed.problems.map((it) => `${it.line}:${it.column} ${it.message}`)
}

const scenarioOf = (text: string) => {
  const parsed = parseScenario(text, 'a.yaml', routes, yaml)
  if (!parsed.ok) throw new Error(parsed.problems.map((it) => it.message).join('\n'))
  return parsed.scenario
}

describe('parseScenario', () => {
  it('parseScenario takes a missing scenario name from the file and uses the default server', () => {
    const { name, webhookResponses, server, vars, teardown, steps } = scenarioOf('steps: [{ call: apps.list }]')
    expect({ name, webhookResponses, server, vars, teardown }).toEqual({
      name: 'a.yaml',
      webhookResponses: [200],
      server: { own: false, autoApprove: false, requireSecure: false },
      vars: {},
      teardown: [],
    })
    expect(steps).toMatchObject([
      {
        kind: 'call',
        name: 'call apps.list',
        line: 1,
        as: 'jwt',
        idempotencyKey: null,
        withinMs: null,
        expect: { that: [] },
      },
    ])
  })

  it('parseScenario reads every member of a step', () => {
    const { steps } = scenarioOf(`
steps:
  - name: Look
    call: vouchers.verify
    as: none
    with: { credential: { type: redeem_code, value: X } }
    within: 2s
    expect: { status: 401, code: TOKEN_MISSING, details: { a: 1 }, that: .a == 1 }
    capture: { it: .id }
    use: { token: "\${it}" }
  - call: webhook.set
  - receive: voucher_issued
    within: 500ms
    expect: { data: { type: voucher_issued }, that: [.a, .b] }
  - advance: 31d
`)
    expect(steps).toMatchObject([
      {
        line: 3,
        as: 'none',
        withinMs: 2000,
        expect: { status: 401, code: 'TOKEN_MISSING', details: { a: 1 }, that: ['.a == 1'] },
        capture: { it: '.id' },
        use: { token: '\${it}' },
      },
      { kind: 'call' },
      { kind: 'receive', type: 'voucher_issued', withinMs: 500, expect: { that: ['.a', '.b'] } },
      { kind: 'advance', seconds: 2_678_400 },
    ])
  })

  it.each([
    ['', '1:1 The file must be a record of name, server, webhook, vars, steps, teardown.'],
    ['name: x', '1:1 The file has no steps.'],
    ['steps: []', '1:1 steps must be a list of steps.'],
    [
      'step: [{ call: apps.list }]\nsteps: [{ call: apps.list }]',
      '1:1 The file has no member "step": did you mean "steps"?',
    ],
    ['steps: [{ call: apps.lst }]', '1:11 There is no endpoint "apps.lst": did you mean "apps.list"?'],
    ['steps: [{ call: platform.requests }]', '1:11 platform.requests returns a stream, which no step can read.'],
    [
      'steps:\n  - { call: GET /nowhere }',
      '2:7 GET /nowhere is not known here: say with "as" which credential it takes, or none.',
    ],
    ['steps: [{ call: apps.list, advance: 1s }]', '1:9 A step is one of call, receive, advance.'],
    ['steps: [{ call: "LOOK /apps" }]', '1:11 The method must be one of GET, POST, PUT, PATCH, DELETE.'],
    ['steps: [{ call: "GET //apps" }]', '1:11 PATH must not contain the server; --base-url names it.'],
    ['steps: [{ advance: 1s, nam: x }]', '1:24 A step has no member "nam": did you mean "name"?'],
    [
      'steps: [x]',
      '1:9 A step must be a record of name, call, receive, advance, as, with, key, within, expect, capture, use.',
    ],
    ['steps: [{ advance: soon }]', '1:11 advance must be a duration such as 30s, 2h or 31d.'],
    ['steps: [{ advance: 1s, key: a }]', '1:24 key cannot be used with advance.'],
    ['steps: [{ call: apps.list, as: me }]', '1:28 as must be one of token, bot, jwt, operator, none.'],
    [
      'steps: [{ call: apps.create, within: 1s }]',
      '1:30 within repeats a call until it fits: only calls that change nothing take it.',
    ],
    [
      'steps: [{ call: GET /open-platform/applications, with: { page: 2 } }]',
      '1:50 A GET by its path takes no "with": write the query into the path.',
    ],
    [
      'steps: [{ call: apps.list, with: { page: "${pge}" } }]',
      '1:28 ${pge} is not known here: no step before this one captures it, and vars does not hold it',
    ],
    [
      'vars: { page: 1 }\nsteps: [{ call: apps.list, with: { page: "${pge}" } }]',
      '2:28 ${pge} is not known here: did you mean ${page}?',
    ],
    [
      'steps: [{ call: apps.list, capture: { "a b": . } }]',
      '1:39 "a b" is not a variable name (letters, digits, _ and -).',
    ],
    ['steps: [{ call: apps.list, use: { key: x } }]', '1:35 use names a credential: token, bot, jwt, operator.'],
    ['steps: [{ call: apps.list, expect: { status: ok } }]', '1:38 status must be a number such as 201.'],
    ['steps: [{ receive: ping, expect: { status: 200 } }]', '1:36 expect has no member "status": it takes data, that'],
    [
      'webhook: { respond: maybe }\nsteps: [{ call: apps.list }]',
      '1:12 respond must be a list such as 500,timeout,200.',
    ],
    ['server: { auto_approve: 1 }\nsteps: [{ call: apps.list }]', '1:11 auto_approve must be true or false.'],
    ['name: a\nname: b\nsteps: [{ call: apps.list }]', '2:1 Map keys must be unique.'],
    ['steps: [{ call: apps.list ]', expect.stringMatching(/^1:\d+ /)],
  ])('parseScenario reports line, column and problem of the scenario %j', (text, problem) => {
    expect(problemsOf(text)).toContainEqual(problem)
  })

  it.each([
    ['VOUCHER_EXPRED', 'did you mean "VOUCHER_EXPIRED"?'],
    ['voucher_expired', 'did you mean "VOUCHER_EXPIRED"?'],
    ['NETWORK_EROR', 'did you mean "NETWORK_ERROR"?'],
    ['TEAPOT', 'see `voucherctl help exit-codes`'],
  ])('parseScenario refuses the unknown failure code %s with its place: %s', { tags: 'scenarios/3' }, (code, hint) => {
    const place = `3:15 There is no failure code "${code}": ${hint}`
    for (const call of ['vouchers.redeem', 'POST /api/v1/open-platform/vouchers/redeem'])
      expect(problemsOf(`steps:\n  - call: ${call}\n    expect: { code: ${code} }\n`)).toEqual([place])
  })

  it.each([
    'steps: [{ call: apps.list, expect: { code: VOUCHER_EXPIRED } }]',
    'steps: [{ call: apps.list, expect: { code: HTTP_502 } }]',
    'vars: { code: TEAPOT }\nsteps: [{ call: apps.list, expect: { code: "${code}" } }]',
    'steps: [{ call: POST /own, as: none, expect: { code: TEAPOT } }]',
    'steps: [{ call: platform.addFault, with: { code: TEAPOT } }, { call: apps.list, expect: { code: TEAPOT } }]',
  ])('parseScenario accepts the failure code of the scenario %j', (text) => {
    expect(problemsOf(text)).toEqual([])
  })

  it.each([
    ['call: bots.apply', false],
    ['call: webhook.set, expect: { code: WEBHOOK_URL_REFUSED }', false],
    ['call: webhook.set, expect: { status: 400 }', false],
    ['call: webhook.info', false],
    ['call: GET /own, as: none', false],
    ['call: webhook.set', true],
    ['call: webhook.setByBot', true],
    ['call: platform.borrowWebhook', true],
    ['call: "POST /api/v1/bots/my/${run}/webhook"', true],
    ['call: POST /own, as: none', true],
  ])('parseScenario judges a receive after { %s }: accepted %j', { tags: 'scenarios/3' }, (step, isAccepted) => {
    const [problem, ...others] = problemsOf(`steps:\n  - { ${step} }\n  - receive: ping\n`)
    expect(others).toEqual([])
    if (isAccepted) expect(problem).toBeUndefined()
    else expect(problem).toMatch(/^3:5 No step before this one sets a webhook: add "call: webhook\.set"/)
  })

  it('parseScenario refuses a receive before the step that sets the webhook', { tags: 'scenarios/3' }, () => {
    expect(problemsOf('steps: [{ receive: ping }, { call: webhook.set }, { receive: ping }]')).toHaveLength(1)
    expect(problemsOf('steps: [{ call: webhook.set }]\nteardown: [{ receive: ping }]')).toEqual([])
  })

  it('parseScenario reports all problems of a file, not only the first', () => {
    expect(problemsOf('name: 1\nsteps:\n  - call: apps.lst\n  - advance: x\n')).toHaveLength(3)
  })

  it('a step may refer to a variable that it captures in its `use`, but not in its `with`', () => {
    expect(
      problemsOf('steps: [{ call: tokens.create, with: {}, capture: { t: .token }, use: { token: "${t}" } }]'),
    ).toEqual([])
    expect(problemsOf('steps: [{ call: apps.get, with: { appId: "${a}" }, capture: { a: .id } }]')).toHaveLength(1)
  })

  it('parseScenario refuses YAML aliases that expand without limit', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]']
    for (const [from, to] of ['ab', 'bc', 'cd', 'de', 'ef'])
      bomb.push(`${to}: &${to} [${Array(10).fill(`*${from}`).join(', ')}]`)
    expect(problemsOf(bomb.join('\n'))[0]).toMatch(/^1:1 The aliases cannot be followed/)
  })
})
