import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { apps } from '../../../src/contract/apps.js'
import { cli, refusal, secrets, stub, success, temporaryDir } from '../../support/cli/cli.js'
import { homeWithProfiles } from '../../support/cli/profiles.js'

/** Scenario steps that create an application, a token and an active template. */
const shop = `
  - call: apps.create
    with: { name: "Shop \${run}" }
    capture: { app: .id }
  - call: tokens.create
    with:
      appId: \${app}
      name: scenario
      scopes: ["vouchers:read", "vouchers:templates:write", "vouchers:issue", "vouchers:verify", "vouchers:redeem", "vouchers:reverse"]
    capture: { token: .token }
    use: { token: "\${token}" }
  - call: templates.create
    with:
      external_template_id: coffee-\${run}
      name: Free coffee
      type: gift
      issuer_name: Shop
      fulfiller_name: Shop
      fulfillment_category: offline_service
      acquisition_source: free_claim
      validity: { type: relative, duration_days: 30 }
      issue_limit: 10
    capture: { template: .id }
  - call: templates.submit
    with: { templateId: "\${template}" }
    expect: { data: { status: reviewing } }
  - call: vouchers.issue
    with: { template_id: "\${template}", external_issue_id: order-1, recipient_user_id: user-1 }
    expect: { status: 201 }
    capture: { code: '.credentials[] | select(.type == "redeem_code").value' }
`

/** Scenario steps, without the dash of the first, that set the webhook of a new bot. */
const webhook = `call: bots.apply
    with: { name: Coffee bot, username: coffee_bot, scopes: ["messages:receive"] }
    capture: { bot: .id }
  - call: webhook.set
    with: { botId: "\${bot}", url: "\${webhook.url}", secret_token: "\${webhook.secret}" }
`

function written(text: string, name = 'a.yaml'): { cwd: string } {
  const cwd = temporaryDir()
  writeFileSync(join(cwd, name), text)
  return { cwd }
}

interface Report {
  passed: number
  failed: number
  items: {
    file: string
    name: string
    passed: boolean
    steps: { name: string; line: number; status: string; problems: string[]; reason: string | null }[]
    teardown: { name: string; status: string; problems: string[] }[]
  }[]
}

async function resultOf(text: string, baseUrl?: string) {
  const env = { VOUCHERCTL_JWT: secrets.VOUCHERCTL_JWT }
  const named = baseUrl === undefined ? '' : `--base-url ${baseUrl}`
  const ran = await cli(`scenario run a.yaml --json ${named}`, { ...written(text), ...(named === '' ? {} : { env }) })
  if (ran.stdout === '') throw new Error(ran.stderr)
  const report = JSON.parse(ran.stdout) as Report
  const [item] = report.items
  if (item === undefined) throw new Error('no report')
  return { ran, item, problems: item.steps.flatMap((it) => it.problems), statuses: item.steps.map((it) => it.status) }
}

describe('scenario run', () => {
  it('scenario run issues, redeems, reverses and expires a voucher on a throwaway server', async () => {
    const { ran, item, problems } = await resultOf(`
name: A voucher's life
server: { auto_approve: true }
steps: ${shop}
  - call: vouchers.redeem
    key: redeem-\${run}
    with: &redeem { credential: { type: redeem_code, value: "\${code}" }, reference: till-4 }
    expect: { replayed: false, data: { reference: till-4, status: succeeded } }
    capture: { redemption: .id }
  - call: vouchers.redeem
    key: redeem-\${run}
    with: *redeem
    expect: { replayed: true, data: { id: "\${redemption}" } }
  - call: vouchers.redeem
    with: *redeem
    expect: { status: 409, code: VOUCHER_ALREADY_REDEEMED }
  - call: GET /open-platform/vouchers/redemptions/\${redemption}
    expect: { that: ['.id == \${redemption}', '.reference | startswith("till")'] }
  - call: vouchers.reverse
    with: { redemptionId: "\${redemption}" }
  - advance: 31d
  - call: vouchers.verify
    with: { credential: { type: redeem_code, value: "\${code}" } }
    expect: { data: { redeemable: false, reason: expired } }
`)
    expect(problems).toEqual([])
    expect(ran.exit).toBe(0)
    expect(item).toMatchObject({ file: 'a.yaml', name: "A voucher's life", passed: true })
    expect(item.steps.length).toBe(12)
  })

  it('scenario run receives signed webhooks and responds with the statuses of `respond`', async () => {
    const { problems } = await resultOf(`
server: { auto_approve: true }
webhook: { respond: "500,200" }
steps:
  - call: bots.apply
    with: { name: Coffee bot, username: coffee_bot, scopes: ["messages:receive", "messages:send"] }
    capture: { bot: .id }
  - call: bots.get
    with: { botId: "\${bot}" }
    capture: { bot_token: .one_time_token }
    use: { bot: "\${bot_token}" }
  - call: webhook.set
    with: { botId: "\${bot}", url: "\${webhook.url}", secret_token: "\${webhook.secret}" }
  - call: platform.createChat
    with: { bot_id: "\${bot}", user_id: user-1 }
    capture: { chat: .id }
  - receive: my_chat_member
    expect: { that: '.my_chat_member.chat.id == \${chat}' }
  - name: The refused delivery is repeated after a minute
    advance: 61s
  - receive: my_chat_member
    capture: { update: .update_id }
  - call: webhook.deliveries
    with: { botId: "\${bot}" }
    within: 5s
    expect: { that: '.items[0].status == "delivered"' }
`)
    expect(problems).toEqual([])
  })

  it('scenario run plants every fault of deliveries, and its receiver is not misled', async () => {
    const kinds = ['duplicate', 'forged', 'stale', 'lost', 'late']
    const planted = kinds.map(
      (kind, index) => `
  - call: platform.addFault
    with: { endpoint: deliveries, kind: ${kind}, match: { bot: "\${bot}", type: ping } }
  - call: platform.addUpdate
    with: { botId: "\${bot}", type: ping, payload: {} }
  - call: platform.deliveries
    with: { update_id: ${index + 1} }
    within: 10s
    expect: { that: '.items[0] | .status != "pending" and .status != "delivering"' }`,
    )
    const { problems } = await resultOf(`
server: { auto_approve: true }
steps:
  - ${webhook}${planted.join('')}
  - receive: ping
    expect: { that: .update_id == 1 }
  - advance: 1m
${[5, 2, 3, 4].map((id) => `  - receive: ping\n    expect: { that: .update_id == ${id} }\n`).join('')}
  - call: platform.deliveries
    expect: { that: '[.items[].attempts[].fault | values] | sort == ["duplicate", "forged", "late", "lost", "stale"]' }
    within: 10s
  - call: platform.faults
    expect: { that: '.items == []' }
`)
    expect(problems).toEqual([])
  })

  it('scenario run calls with a new account JWT after the clock has moved by more than a day', async () => {
    const { ran, problems } = await resultOf(`
steps:
  - call: apps.create
    with: { name: Before }
  - advance: 25h
  - call: apps.create
    with: { name: After }
  - call: POST /_platform/v1/clock/advance
    with: { seconds: 90000 }
  - call: GET /open-platform/applications
    as: jwt
    expect: { status: 200 }
`)
    expect(problems).toEqual([])
    expect(ran.exit).toBe(0)
  })

  it('a failed scenario step prints its differences and skips later steps', { tags: 'scenarios/2' }, async () => {
    const { ran, item, statuses } = await resultOf(
      `steps:
  - call: apps.create
    with: { name: A }
    expect: { status: 200, data: { name: A } }
  - call: apps.create
    with: { name: A }
    expect: { data: { name: B, status: active }, that: [.name == "C", .nothing] }
    capture: { app: .id }
  - call: apps.list
teardown:
  - call: apps.get
    with: { appId: "\${app}" }
  - call: apps.list
`.replace('{ status: 200, data: { name: A } }', '{ status: 201, data: { name: A } }'),
    )
    expect(ran.exit).toBe(1)
    expect(statuses).toEqual(['passed', 'failed', 'skipped'])
    expect(item.steps[1]).toMatchObject({
      name: 'call apps.create',
      line: 5,
      problems: ['data.name: expected "B", got "A"', 'that .name == "C": false', 'that .nothing: null'],
    })
    expect(item.teardown.map((it) => it.status)).toEqual(['failed', 'passed'])
    expect(item.teardown[0]?.problems).toEqual(['${app} has no value: the step that captures it has not passed'])
  })

  it.each([
    ['call: apps.get\n    with: { appId: nope }', /^expected success, got 404 APPLICATION_NOT_FOUND: /],
    ['call: apps.list\n    expect: { code: APPLICATION_NOT_FOUND }', /^expected APPLICATION_NOT_FOUND, got 200$/],
    ['call: apps.get\n    with: { appId: nope }\n    expect: { status: 403 }', /^expected 403, got 404 /],
    ['call: apps.list\n    as: none', /got 401 TOKEN_MISSING/],
    [
      'call: apps.list\n    capture: { id: ".items[0].id" }',
      /^capture id: \.items\[0\]\.id gives \[null\] in place of one value$/,
    ],
    ['call: apps.list\n    capture: { id: ".items[]" }', /gives \[\] in place of one value$/],
    ['call: apps.list\n    expect: { that: ".items | keys | error" }', /^that \.items \| keys \| error: /],
    ['call: apps.list\n    expect: { replayed: true }', /^replayed: expected true, got false$/],
  ])('the scenario step %j fails and prints its problem', async (step, problem) => {
    const { baseUrl } = await stub(({ headers, path }) => {
      if (headers.authorization === undefined) return refusal(401, 'TOKEN_MISSING')
      return path.endsWith('/nope') ? refusal(404, 'APPLICATION_NOT_FOUND') : success({ items: [] })
    })
    const { ran, problems } = await resultOf(`steps:\n  - ${step}\n`, baseUrl)
    expect(ran.exit).toBe(1)
    expect(problems).toContainEqual(expect.stringMatching(problem))
  })

  it.each([
    ['call: vouchers.redemption\n    with: { redemptionId: rdm_1 }', /got CREDENTIAL_REQUIRED: No token is known/],
    [`${webhook}  - receive: ping\n    within: 10ms`, /^no ping that fits arrived within 0.01 s$/],
  ])('the scenario step %j fails on a throwaway server', async (step, problem) => {
    const { ran, problems } = await resultOf(`server: { auto_approve: true }\nsteps:\n  - ${step}\n`)
    expect([ran.exit, problems]).toEqual([1, [expect.stringMatching(problem)]])
  })

  it('scenario run prints no secret in the problems of a failed step', async () => {
    const { ran, problems } = await resultOf(`server: { auto_approve: true }
steps: ${shop}
  - call: vouchers.issue
    with: { template_id: "\${template}", external_issue_id: order-1, recipient_user_id: user-1 }
    expect: { data: { credentials: [], note: "\${token} \${webhook.secret}" } }
`)
    expect(problems).toHaveLength(2)
    expect(ran.stdout).not.toMatch(/sop_\w{8}|[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}/)
    expect(problems[1]).toMatch(/^data.note: expected "sop_.{4}… …", got nothing$/)
  })

  it('scenario run exits 2 with the place of each mistake and runs no step', { tags: 'scenarios/2' }, async () => {
    const ran = await cli(
      'scenario run a.yaml',
      written('steps:\n  - call: apps.lst\n  - call: apps.list\n    with: { a: "${b}" }\n'),
    )
    expect(ran.exit).toBe(2)
    expect(ran.stdout).toBe('')
    expect(ran.stderr).toContain('a.yaml:2:5: There is no endpoint "apps.lst": did you mean "apps.list"?')
    expect(ran.stderr).toContain('a.yaml:4:5: ${b} is not known here')
  })

  it('scenario run exits 2 for an invalid jq expression in a scenario file', async () => {
    const ran = await cli(
      'scenario run a.yaml',
      written('steps:\n  - call: apps.list\n    expect: { that: ".items[" }\n'),
    )
    expect(ran.exit).toBe(2)
    expect(ran.stderr).toMatch(/a\.yaml:2: that \.items\[: /)
  })

  it('scenario run refuses unknown update types and mistakes in `with`', { tags: 'scenarios/3' }, async () => {
    const text = `
steps:
  - call: apps.create
    with: { nam: Shop }
  - call: apps.create
    with: { name: "\${run}", allowed_origins: [3] }
  - receive: my_chat_membr
`
    const { exit, stderr } = await cli('scenario run a.yaml', written(text))
    expect(exit).toBe(2)
    expect(stderr).toContain('a.yaml:4:5: with.name is required\n')
    expect(stderr).toContain('a.yaml:4:13: with.nam is not known here: did you mean name?\n')
    expect(stderr).toContain('a.yaml:6:47: with.allowed_origins.0 must be')
    expect(stderr).toContain('a.yaml:7:5: No step before this one sets a webhook: add "call: webhook.set"')
    expect(stderr).toContain('a.yaml:7:5: There is no update type "my_chat_membr": did you mean "my_chat_member"?\n')
  })

  it('scenario run sends invalid input that a step expects to fail, and names the member', async () => {
    const refused = 'steps: [{ call: apps.create, with: { name: "" }, expect: { code: VALIDATION_FAILED } }]'
    expect((await resultOf(refused)).item.passed).toBe(true)
    const { problems } = await resultOf(`steps: [{ call: POST ${apps.create.path}, with: { name: "" } }]`)
    expect(problems[1]).toMatch(/^with\.name: must be text of 1 to/)
  })

  it('scenario run --debug prints request and response of a failed step, without secrets', async () => {
    const text = `steps: ${shop}
  - call: vouchers.verify
    with: { credential: { type: redeem_code, value: "\${code}" } }
    expect: { data: { valid: false } }
`.replace('steps:', 'server: { auto_approve: true }\nsteps:')
    const { stdout } = await cli('scenario run a.yaml --debug', written(text))
    expect(stdout).toContain('      data.valid: expected false')
    expect(stdout).toMatch(/ {6}request: POST \S+\/verify \{"credential":\{"type":"redeem_code","value":"…"\}\}\n/)
    expect(stdout).toMatch(/ {6}response: 200 \{/)
    expect((await cli('scenario run a.yaml', written(text))).stdout).not.toContain('request:')
  })

  it('scenario run --watch runs again when a file changes, also after a mistake, until Ctrl-C', async () => {
    const { cwd } = written('steps: [{ call: apps.list }]')
    const file = join(cwd, 'a.yaml')
    const contents = ['steps: [{ call: apps.lst }]', 'steps: [{ call: apps.list, expect: { status: 201 } }]']
    const stop = new AbortController()
    let waits = 0
    const { stdout, stderr } = await cli('scenario run a.yaml --watch', {
      cwd,
      signal: stop.signal,
      onStderr: (said) => {
        if (!said.startsWith('Waiting')) return
        const next = contents[waits++]
        if (next === undefined) stop.abort()
        else writeFileSync(file, next)
      },
    })
    expect(stdout.match(/\d passed, \d failed/g)).toEqual(['1 passed, 0 failed', '0 passed, 1 failed'])
    expect(stderr).toContain('did you mean "apps.list"?')
    expect(stderr).toContain('a.yaml has changed.')
  })

  it('scenario run --export-env writes captured values and credentials to a private file', async () => {
    const given = written(`server: { auto_approve: true }\nsteps: ${shop}`)
    expect((await cli('scenario run a.yaml --export-env out.env', given)).exit).toBe(0)
    const file = join(given.cwd, 'out.env')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const text = readFileSync(file, 'utf8')
    expect(text).toMatch(/^export SCENARIO_APP=app_\w+$/m)
    expect(text).toMatch(/^export VOUCHERCTL_TOKEN=sop_\w+$/m)
  })

  it('scenario run runs no step if the file of --export-env cannot be written', async () => {
    const given = written('steps: [{ call: apps.list }]')
    for (const file of ['no/out.env', '.', '/proc/out.env']) {
      const ran = await cli(`scenario run a.yaml --export-env ${file}`, given)
      expect(ran).toMatchObject({ exit: 1, stdout: '' })
      expect(ran.stderr).toContain(`${file} cannot be written (E`)
    }
    expect(readdirSync(given.cwd)).toEqual(['a.yaml'])
  })

  it('scenario run --export-env writes no file if a step fails', async () => {
    const given = written('steps: [{ call: apps.list, expect: { status: 201 } }]')
    expect((await cli('scenario run a.yaml --export-env out.env', given)).exit).toBe(1)
    expect(existsSync(join(given.cwd, 'out.env'))).toBe(false)
  })

  it('scenario run prints one line per file, in the given order, and then the failures', async () => {
    const { cwd } = written('name: First\nsteps: [{ call: apps.list }]')
    writeFileSync(join(cwd, 'b.yaml'), 'steps:\n  - name: Look\n    call: apps.get\n    with: { appId: x }\n')
    const ran = await cli('scenario run a.yaml b.yaml', { cwd })
    expect(ran.exit).toBe(1)
    expect(ran.stderr).toBe('')
    expect(ran.stdout.replaceAll(/\d+\.\d s/g, 'T')).toBe(
      `✓ a.yaml  First (1 step, T)
✗ b.yaml (1 step, T)
    b.yaml:2: Look
      expected success, got 404 APPLICATION_NOT_FOUND: No such application.

1 passed, 1 failed, in T
`,
    )
  })

  it('scenario run --junit writes a report, or runs no step if the folder for it is missing', async () => {
    const given = written('steps: [{ call: apps.list }]')
    expect((await cli('scenario run a.yaml --junit out.xml', given)).exit).toBe(0)
    expect(readFileSync(join(given.cwd, 'out.xml'), 'utf8')).toMatch(
      /<testsuites name="voucherctl" tests="1" failures="0"/,
    )
    const ran = await cli('scenario run a.yaml --junit no/out.xml', given)
    expect(ran).toMatchObject({ exit: 1, stdout: '' })
    expect(ran.stderr).toContain('no/out.xml cannot be written (ENOENT)')
  })

  it('scenario run --parallel runs files concurrently, each on its own server', { tags: 'scenarios/1' }, async () => {
    const { cwd } = written('')
    const names = ['a', 'b', 'c'].map((it) => `${it}.yaml`)
    for (const name of names) {
      const steps =
        '  - call: apps.create\n    with: { name: Same }\n  - call: apps.list\n    expect: { that: (.items | length) == 1 }\n'
      writeFileSync(join(cwd, name), `steps:\n${steps}`)
    }
    const ran = await cli(`scenario run ${names.join(' ')} --parallel 3 -o jsonl`, { cwd })
    expect(ran.exit).toBe(0)
    expect(
      ran.stdout
        .trim()
        .split('\n')
        .map((it) => (JSON.parse(it) as Report['items'][number]).file),
    ).toEqual(names)
  })

  it('scenario run --dry-run parses the scenario files and runs no step', async () => {
    const ran = await cli('scenario run a.yaml --dry-run', written('steps: [{ call: apps.list }]'))
    expect(ran.exit).toBe(0)
    expect(ran.stdout).toContain('would run 1 step of a.yaml on a throwaway server')
  })
})

describe('scenario run against a server', () => {
  it('scenario run --base-url runs against the given server with credentials of the environment', async () => {
    const { baseUrl, received } = await stub(() => success({ items: [] }))
    const given = written('steps: [{ call: apps.list }, { call: templates.list }]')
    const ran = await cli(`scenario run a.yaml --base-url ${baseUrl}`, { ...given, env: secrets })
    expect(ran.exit).toBe(0)
    expect(received.map((it) => it.headers.authorization)).toEqual([
      `Bearer ${secrets.VOUCHERCTL_JWT}`,
      `Bearer ${secrets.VOUCHERCTL_TOKEN}`,
    ])
  })

  it('scenario run repeats a read step with `within` until it matches', { tags: 'scenarios/1' }, async () => {
    const { baseUrl, received } = await stub((_request, i) => success({ items: i < 2 ? [] : [{ id: 'app_1' }] }))
    const given = written('steps: [{ call: apps.list, within: 5s, expect: { that: (.items | length) == 1 } }]')
    expect((await cli(`scenario run a.yaml --base-url ${baseUrl}`, { ...given, env: secrets })).exit).toBe(0)
    expect(received).toHaveLength(3)
  })

  it('scenario run does not retry a failed API call without --retries', { tags: 'scenarios/1' }, async () => {
    const { baseUrl, received } = await stub((_request, i) =>
      i === 0 ? refusal(503, 'SERVICE_UNAVAILABLE') : success({}),
    )
    const given = written('steps: [{ call: apps.list, expect: { status: 503 } }]')
    expect((await cli(`scenario run a.yaml --base-url ${baseUrl}`, { ...given, env: secrets })).exit).toBe(0)
    expect(received).toHaveLength(1)
  })

  it('scenario run uses the server of a profile only with --profile', async () => {
    const { baseUrl, received } = await stub(() => success({ items: [] }))
    const profile = { base_url: baseUrl, credentials: { jwt: { value: secrets.VOUCHERCTL_JWT, origin: baseUrl } } }
    const home = homeWithProfiles({ default: profile })
    const given = { ...written('steps: [{ call: apps.list }]'), home }
    expect((await cli('scenario run a.yaml', given)).exit).toBe(0)
    expect(received).toHaveLength(0)
    expect((await cli('scenario run a.yaml --profile default', given)).exit).toBe(0)
    expect(received).toHaveLength(1)
  })

  it('scenario run starts a server for a file with `own` unless flags name one', { tags: 'scenarios/1' }, async () => {
    const { baseUrl, received } = await stub(() => success({ items: [] }))
    const given = written('server: { own: true }\nsteps: [{ call: apps.list }]')
    writeFileSync(join(given.cwd, 'b.yaml'), 'steps: [{ call: apps.list }]')
    const env = { ...secrets, VOUCHERCTL_BASE_URL: baseUrl }
    expect((await cli('scenario run a.yaml', { ...given, env })).exit).toBe(0)
    expect(received).toHaveLength(0)
    const planned = await cli('scenario run a.yaml b.yaml --dry-run', { ...given, env })
    expect(planned.stdout).toContain('a.yaml on a throwaway server')
    expect(planned.stdout).toContain(`b.yaml on ${baseUrl}`)
    expect((await cli('scenario run a.yaml b.yaml', { ...given, env })).exit).toBe(0)
    expect(received).toHaveLength(1)
    expect((await cli(`scenario run a.yaml --base-url ${baseUrl}`, { ...given, env })).exit).toBe(0)
    expect(received).toHaveLength(2)
  })

  it('scenario run --profile without an address fails in place of a throwaway server', async () => {
    const given = { ...written('steps: [{ call: apps.list }]'), home: homeWithProfiles({ staging: {} }) }
    for (const name of ['staging', 'missing']) {
      const ran = await cli(`scenario run a.yaml --profile ${name}`, given)
      expect(ran).toMatchObject({ stdout: '' })
      expect(ran.exit).not.toBe(0)
    }
  })

  it('scenario run --profile refuses another address in the environment, except with --base-url', async () => {
    const [staging, other] = [await stub(() => success({ items: [] })), await stub(() => success({ items: [] }))]
    const given = {
      ...written('steps: [{ call: apps.list }]'),
      home: homeWithProfiles({ staging: { base_url: staging.baseUrl } }),
      env: { ...secrets, VOUCHERCTL_BASE_URL: other.baseUrl },
    }
    const { exit, stderr } = await cli('scenario run a.yaml --profile staging', given)
    expect([exit, stderr]).toEqual([
      2,
      expect.stringContaining('but environment VOUCHERCTL_BASE_URL names another one.'),
    ])
    expect([...staging.received, ...other.received]).toEqual([])
    const named = `scenario run a.yaml --profile staging --base-url ${other.baseUrl}`
    expect((await cli(named, given)).exit).toBe(0)
    const same = { ...given, env: { ...secrets, VOUCHERCTL_BASE_URL: `${staging.baseUrl}/` } }
    expect((await cli('scenario run a.yaml --profile staging', same)).exit).toBe(0)
    expect([staging.received.length, other.received.length]).toEqual([1, 1])
  })

  it('scenario run names a missing variable of the environment', async () => {
    const given = written('steps: [{ call: apps.create, with: { name: "${env.SHOP_NAME}" } }]')
    const { exit, stdout } = await cli('scenario run a.yaml', given)
    expect([exit, stdout]).toEqual([1, expect.stringContaining('no value: set SHOP_NAME in the environment')])
  })

  it('scenario run --profile names steps that the platform cannot take, with exit code 11', async () => {
    const { baseUrl } = await stub(({ path, body }) => {
      if (path.endsWith('/webhook')) return refusal(422, 'WEBHOOK_URL_REFUSED')
      return success({ ...(body as object), id: 'bot_1', review_status: 'pending', items: [] })
    })
    const profile = { base_url: baseUrl, credentials: { jwt: { value: secrets.VOUCHERCTL_JWT, origin: baseUrl } } }
    const home = homeWithProfiles({ staging: profile })
    const text = `steps:
  - ${webhook}  - advance: 31d
  - call: platform.createChat
    with: { bot_id: "\${bot}", user_id: user-1 }
    capture: { chat: .id }
  - receive: my_chat_member
    expect: { that: ".my_chat_member.chat.id == \${chat}" }
  - call: apps.list
`
    const given = { ...written(text), home }
    const ran = await cli('scenario run a.yaml --profile staging --json --junit report.xml', given)
    const report = JSON.parse(ran.stdout) as Report & { not_run: number }
    expect([ran.exit, report.passed, report.not_run]).toEqual([11, 1, 4])
    expect(report.items[0]?.steps.map((it) => [it.status, it.reason])).toEqual([
      ['passed', null],
      ['skipped', expect.stringContaining('the platform cannot reach the receiver http://127.0.0.1')],
      ['skipped', 'the platform offers no operator API to this profile'],
      ['skipped', 'the platform offers no operator API to this profile'],
      ['skipped', 'it needs ${chat} of a step that has not passed'],
      ['passed', null],
    ])
    expect(readFileSync(join(given.cwd, 'report.xml'), 'utf8')).toContain('skipped="4"')
    const shown = await cli('scenario run a.yaml --profile staging', given)
    expect(shown.stdout).toContain('not run: the platform offers no operator API to this profile')
    expect(shown.stdout).toContain('1 passed, 0 failed, 4 steps not run')
  })

  it('scenario run --profile shows the first difference of each step', async () => {
    const { baseUrl } = await stub(() => success({ items: [], pagination: { total: 3 } }))
    const profile = { base_url: baseUrl, credentials: { jwt: { value: secrets.VOUCHERCTL_JWT, origin: baseUrl } } }
    const given = {
      ...written(`steps:
  - { call: apps.list, expect: { data: { items: [{}], pagination: { total: 1 } } } }
  - { call: bots.list, expect: { data: { pagination: { total: 2 } } } }
  - { call: apps.list }
`),
      home: homeWithProfiles({ staging: profile }),
    }
    const ran = await cli('scenario run a.yaml --profile staging', given)
    expect(ran.exit).toBe(1)
    expect(ran.stdout).toContain('data.items: expected [{}], got []')
    expect(ran.stdout).not.toContain('expected 1, got 3')
    expect(ran.stdout).toContain('data.pagination.total: expected 2, got 3')
    const local = await cli(`scenario run a.yaml --base-url ${baseUrl}`, { ...given, env: secrets })
    expect(local.stdout).not.toContain('expected 2, got 3')
  })

  it('an interrupted scenario run still runs its teardown', async () => {
    const stop = new AbortController()
    const { baseUrl, received } = await stub((_request, i) => {
      if (i === 0) stop.abort()
      return success({})
    })
    const given = written('steps: [{ call: apps.list }, { call: apps.list }]\nteardown: [{ call: templates.list }]')
    await cli(`scenario run a.yaml --base-url ${baseUrl}`, { ...given, env: secrets, signal: stop.signal })
    expect(received.map((it) => it.path)).toEqual([
      '/api/v1/open-platform/applications',
      '/api/v1/open-platform/vouchers/templates',
    ])
  })
})

describe('scenario run --secure', () => {
  it('scenario run passes on a server that requires encryption only with --secure required', async () => {
    const given = written(`server: { auto_approve: true, require_secure: true }\nsteps: ${shop}`)
    expect((await cli('scenario run a.yaml --secure required', given)).exit).toBe(0)
    const ran = await cli('scenario run a.yaml --json', given)
    expect(ran.exit).toBe(1)
    expect(ran.stdout).toContain('426 SECURE_TRANSPORT_REQUIRED')
  })
})
