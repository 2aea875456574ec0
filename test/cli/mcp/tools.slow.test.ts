import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { temporaryDir } from '../../support/cli/cli.js'
import { mcpClient } from '../../support/cli/mcp.js'
import { cliServer } from '../../support/cli/server.js'
import { order, toolSuccesses as successes } from '../../support/cli/tool-inputs.js'
import { closedPort } from '../../support/closed-port.js'
import { seed, seedToken } from '../../support/server/seed.js'

/** Starts a session with its own server in memory. */
async function ownSession(planted: object = seed, env: Record<string, string> = {}) {
  const home = temporaryDir()
  const file = join(home, 'seed.json')
  writeFileSync(file, JSON.stringify(planted), { mode: 0o600 })
  return mcpClient(['--seed', file], { home, env })
}

/** Input of each tool that the server, or the tool itself, refuses, with the code. */
const refusals: readonly (readonly [tool: string, input: Record<string, unknown>, code: string])[] = [
  ['describe_endpoint', { endpoint: 'vouchers.redem' }, 'USAGE'],
  ['call', { endpoint: 'vouchers.redeem', input: {} }, 'INVALID_INPUT'],
  ['call', { endpoint: 'templates.list', application_id: 'app_none' }, 'APPLICATION_NOT_FOUND'],
  ['call', { endpoint: 'platform.activity' }, 'USAGE'],
  ['voucher_history', { voucher_id: 'vch_none' }, 'VOUCHER_NOT_FOUND'],
  ['voucher_history', {}, 'USAGE'],
  ['explain_refusal', { request_id: 'req_none' }, 'USAGE'],
  ['explain_code', { code: 'VOUCHER_EXPIERD' }, 'USAGE'],
  ['explain_delivery', { delivery_id: 'dlv_none' }, 'DELIVERY_NOT_FOUND'],
  ['replay_delivery', { delivery_id: 'dlv_none', send: 'as_sent' }, 'DELIVERY_NOT_FOUND'],
  ['trigger_update', { bot_id: 'bot_none', type: 'ping' }, 'BOT_NOT_FOUND'],
  ['faults', { action: 'remove', fault_id: 'flt_none' }, 'FAULT_NOT_FOUND'],
  ['faults', { action: 'add' }, 'USAGE'],
  ['clock_forecast', { until: '2020-01-01T00:00:00Z' }, 'VALIDATION_FAILED'],
  ['seed', {}, 'STORE_NOT_EMPTY'],
  ['seed', { file: 'none.yaml' }, 'FILE_UNREADABLE'],
  ['snapshot_restore', { name: 'none' }, 'SNAPSHOT_NOT_FOUND'],
  ['run_scenario', { yaml: 'steps: 1' }, 'INVALID_INPUT'],
  ['conform', { group: 'none' }, 'USAGE'],
  ['prove', { command: 'node shop.js' }, 'WRITE_NOT_ALLOWED'],
  ['prove', {}, 'WRITE_NOT_ALLOWED'],
  ['rule', { anchor: 'retry-shedule' }, 'USAGE'],
]

/** Tools that need no server. */
const own = ['describe_endpoint', 'explain_code', 'prove', 'rule', 'run_scenario']

describe('tools on the server of the session', () => {
  test('every tool succeeds and returns text and data of its schema', { tags: 'tools-for-models/1' }, async () => {
    const { call, client } = await ownSession()
    for (const [tool, input] of successes) {
      const { isError, text, data } = await call(tool, input)
      expect([tool, isError, isError ? text : ''], text).toEqual([tool, false, ''])
      expect(data, tool).toBeTypeOf('object')
      expect(text, tool).not.toBe('')
    }
    const { tools } = await client.listTools()
    expect(tools.length).toBeLessThanOrEqual(21)
    // A model reads the whole list at the start of a session.
    expect(Buffer.byteLength(JSON.stringify({ tools }))).toBeLessThan(24_000)
    expect(tools.map((it) => Object.keys(it.outputSchema?.properties ?? {}))).toEqual(tools.map(() => ['data']))
    const tried = new Set([...successes, ...refusals].map(([tool]) => tool))
    expect(tools.map((it) => it.name).filter((it) => !tried.has(it))).toEqual([])
  })

  test('every tool returns a refusal as an error with the failure code', async () => {
    const { call } = await ownSession()
    for (const [tool, input, code] of refusals) {
      const { isError, text } = await call(tool, input)
      expect([tool, isError, text.includes(`"code": "${code}"`)], text).toEqual([tool, true, true])
      expect(text, tool).toContain('Next: explain_code')
    }
  })

  test('call names the members of a refused input as the tool does', async () => {
    const { call } = await ownSession()
    const issue = await call('call', { endpoint: 'vouchers.issue', application_id: 'app_coffee', input: {} })
    expect(issue.text).toContain('"pointer": "/input/external_issue_id"')
    expect(issue.text).toContain('input.external_issue_id is required')
    const until = { until: '2020-01-01T00:00:00Z' }
    const refused = [
      await call('call', { endpoint: 'platform.forecast', input: until }),
      await call('call', {
        endpoint: 'vouchers.redeem',
        application_id: 'app_coffee',
        input: { credential: { type: 'redeem_code', value: 'x' } },
      }),
    ]
    expect(refused.map((it) => /"pointer": "(.*)"/.exec(it.text)?.[1])).toEqual([
      '/input/until',
      '/input/credential/value',
    ])
  })

  test('seed plants records into an empty store once', async () => {
    const { call } = await ownSession({ account: 'demo' })
    const planted = await call('seed', { seed })
    expect(planted.data, planted.text).toMatchObject({ planted: true })
    expect((await call('find', { text: 'Coffee' })).text).toContain('app_coffee')
    const again = await call('seed', { seed })
    expect([again.isError, again.data], again.text).toMatchObject([false, { planted: false }])
    expect(`${planted.text}${again.text}`).not.toContain(seedToken)
  })

  test('every tool refuses an unknown member of its input', async () => {
    const { call, client } = await ownSession()
    const { tools } = await client.listTools()
    for (const { name } of tools) {
      const { isError, text } = await call(name, { nonsense: 1 })
      expect([name, isError], text).toEqual([name, true])
      expect(text, name).toContain('"code": "INVALID_INPUT"')
    }
  })

  test('a local voucher shows its codes, and tokens stay hidden', { tags: 'tools-for-models/2' }, async () => {
    const { call } = await ownSession()
    const issued = await call('call', { endpoint: 'vouchers.issue', application_id: 'app_coffee', input: order })
    const { data } = issued.data as { data: { voucher_id?: string; credentials: { value: string }[] } }
    expect(data.credentials.map((it) => it.value).join()).toMatch(/[0-9A-Z]{4}-[0-9A-Z]{4}/)
    const code = data.credentials.find((it) => it.value.includes('-'))?.value
    const history = await call('voucher_history', { code })
    expect(history.data).toMatchObject({ events: [{ type: 'issued' }, { type: 'shown' }] })
    const token = await call('call', {
      endpoint: 'tokens.create',
      account_id: 'acme',
      input: { appId: 'app_coffee', name: 'till', scopes: ['vouchers:read'] },
    })
    expect([token.isError, token.text]).toEqual([false, expect.not.stringMatching(/sop_\w{20}/)])
  })

  test('call and conform use the credentials of the seed, not of the environment', async () => {
    const { call } = await ownSession(seed, { VOUCHERCTL_TOKEN: seedToken.replace(/.$/, 'x') })
    expect((await call('call', { endpoint: 'templates.list' })).isError).toBe(false)
    const { data, text } = await call('conform', { group: 'lists' })
    expect((data as { holds: number }).holds).toBeGreaterThan(2)
    expect(text).toContain('Credentials are missing: jwt.')
  })

  test('activity waits for the first line that fits', async () => {
    const { call } = await ownSession()
    const { cursor } = (await call('activity')).data as { cursor: number }
    const waiting = call('activity', { since: cursor, only: 'problems', wait_seconds: 30 })
    await call('call', {
      endpoint: 'vouchers.issue',
      application_id: 'app_coffee',
      input: { ...order, template_id: 'tpl_tea' },
    })
    const { data } = await waiting
    expect(data).toMatchObject({ items: [{ kind: 'request', request: { code: 'TEMPLATE_NOT_ACTIVE' } }] })
  })
})

describe('tools without a server', () => {
  test('each tool says how to start a server', async () => {
    const { call } = await mcpClient()
    for (const [tool, input] of successes) {
      const { isError, text } = await call(tool, input)
      if (own.includes(tool)) expect([tool, isError], text).toEqual([tool, false])
      else expect([tool, isError, text], text).toEqual([tool, true, expect.stringContaining('server start --detach')])
    }
  })

  test('each tool says how to start a server when the address does not respond', async () => {
    const env = { VOUCHERCTL_BASE_URL: `http://127.0.0.1:${await closedPort()}`, VOUCHERCTL_OPERATOR_KEY: 'opk_1' }
    const { call } = await mcpClient([], { env })
    for (const [tool, input] of successes) {
      if (own.includes(tool)) continue
      const { isError, text } = await call(tool, input)
      expect([tool, isError, text], text).toEqual([tool, true, expect.stringContaining('server start')])
    }
  })

  test('a server that starts during the session is found', async () => {
    const { call, home } = await mcpClient()
    expect((await call('server_state')).isError).toBe(true)
    const { built } = await import('../../support/cli/built-cli.js')
    const started = await built.run(['server', 'start', '--detach', '--port', '0', '--test-clock'], home)
    expect(started.exit, started.stderr).toBe(0)
    expect((await call('server_state')).data).toMatchObject({ is_local: true, may_change: true })
    await built.run(['server', 'stop'], home)
  })
})

describe('tools on a server of the environment', () => {
  test('calls and probes use the credentials of the environment', async () => {
    const server = await cliServer()
    const { call } = await mcpClient([], { env: server.env })
    const { id } = await server.issue()
    expect((await call('voucher_history', { voucher_id: id })).data).toMatchObject({ voucher: { id } })
    expect((await call('call', { endpoint: 'templates.list' })).isError).toBe(false)
    const { data } = await call('conform', { group: 'lists', changes: true })
    expect((data as { holds: number }).holds).toBeGreaterThan(5)
    await server.close()
  })
})

describe('the tool prove', () => {
  const shop = fileURLToPath(new URL('../../prove/shops/wrong/key-per-attempt.mjs', import.meta.url))
  const command = `node '${shop}' order-1`
  const variant = 'vouchers.redeem#1/drop_response'

  test('runs a command that the user permitted, and returns what it found', async () => {
    const { call } = await mcpClient(['--prove', command], { home: temporaryDir() })
    const { data, text } = await call('prove', { only: variant })
    expect(text).toContain('Findings: 2.')
    expect(data).toMatchObject({ findings: [{ finding: 'new_key', variants: [variant] }, { finding: 'voucher_lost' }] })
  })

  test('refuses another command, and names the permitted one that is close', { tags: 'prove/4' }, async () => {
    const { call } = await mcpClient(['--prove', 'node shop.js'], { home: temporaryDir() })
    const { isError, text } = await call('prove', { command: 'node shop.mjs' })
    expect(isError).toBe(true)
    expect(text).toContain('Did you mean node shop.js?')
  })
})
