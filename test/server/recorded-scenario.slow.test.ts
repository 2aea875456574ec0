import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Endpoint, scopes } from '../../src/contract/endpoint.js'
import { contract } from '../../src/contract/index.js'
import type { Delivery } from '../../src/contract/webhook.js'
import { startServer } from '../../src/server/listen.js'
import type { ServerOptions } from '../../src/server/options.js'
import { verifyWebhook } from '../../src/webhook/signature.js'
import { cli, temporaryDir } from '../support/cli/cli.js'
import { closedPort } from '../support/closed-port.js'
import { emptyDatabase } from '../support/postgres/database.js'
import { newReceiver, until } from '../support/server/deliveries.js'
import { onPostgres } from '../support/store/engine-name.js'

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** Starts a server on the engine of the test run; `env` has its address and the credentials of an account. */
async function started(options: ServerOptions = {}) {
  const place = onPostgres
    ? { dataDir: temporaryDir(), databaseUrl: await emptyDatabase() }
    : { memory: true, testClock: true }
  const server = await startServer({ ...place, port: 0, operator: true, logLevel: 'silent', ...options })
  open.push(() => server.close())
  const operatorKey = readFileSync(server.operatorKeyFile as string, 'utf8').trim()
  const send = async (
    { method, path }: Endpoint,
    body: unknown,
    token: string,
    ids: Record<string, string> = {},
    signal: AbortSignal | null = null,
  ) => {
    const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? '')
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': `k${open.length}${Math.trunc(keys++)}`,
    }
    const response = await fetch(server.baseUrl + filled, {
      method,
      headers,
      signal,
      ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
    })
    return ((await response.json()) as { data: Record<string, never> }).data
  }
  const { jwt } = await send(contract.platform.issueAccountToken, {}, operatorKey, { accountId: 'acme' })
  const env = {
    VOUCHERCTL_BASE_URL: server.baseUrl,
    VOUCHERCTL_OPERATOR_KEY: operatorKey,
    VOUCHERCTL_JWT: jwt as unknown as string,
  }
  return { send, env, operatorKey, jwt: jwt as unknown as string }
}
let keys = 0

/** Records while `act` runs. @returns the folder with session.yaml, and what the command printed */
async function recorded(env: Record<string, string>, act: () => Promise<unknown>, flags = '') {
  const cwd = temporaryDir()
  const interruption = new AbortController()
  let begin = () => {}
  const isRecording = new Promise<void>((resolve) => {
    begin = resolve
  })
  const recording = cli(`scenario record --out session.yaml --json ${flags}`, {
    cwd,
    env,
    signal: interruption.signal,
    onStderr: (text) => text.includes('Recording') && begin(),
  })
  await Promise.race([isRecording, recording])
  await act()
  interruption.abort()
  const ran = await recording
  expect([ran.exit, ran.stderr]).toEqual([0, expect.stringContaining('Recording')])
  const text = readFileSync(join(cwd, 'session.yaml'), 'utf8')
  return { cwd, text, stderr: ran.stderr, data: JSON.parse(ran.stdout) }
}

const blocks = [...readFileSync('src/guides/scenario-files.md', 'utf8').matchAll(/```yaml\n([^]*?)```/g)].map(
  ([, it]) => it,
)

describe('scenario record', () => {
  it.skipIf(onPostgres)('the scenarios of the guide, recorded, pass on an empty server', async () => {
    const port = await closedPort()
    const { env } = await started({ autoApprove: true, webhookLoopbackPorts: [port] })
    const { cwd, text } = await recorded(env, async () => {
      const own = temporaryDir()
      // The clock moves by 31 days in the first one, after which the token of the account has expired.
      for (const [at, block = ''] of [blocks[1], blocks[0]].entries()) {
        writeFileSync(join(own, `${at}.yaml`), block)
        const ran = await cli(`scenario run ${at}.yaml --webhook-port ${port}`, { cwd: own, env })
        expect(ran.stdout).toContain('1 passed')
      }
    })
    expect(text).toContain('advance: 31d')
    expect(text).toContain('respond: "500,200"')
    expect(text).toContain('expect: { status: 409, code: VOUCHER_EXPIRED }')
    const again = await cli('scenario run session.yaml', { cwd })
    expect(again.stdout).toContain('1 passed')
    expect(statSync(join(cwd, 'session.yaml')).mode & 0o777).toBe(0o666 & ~process.umask())
  })

  it('the quickstart, recorded and as help prints it, passes on a fresh server and on any engine', async () => {
    const home = temporaryDir()
    const kept = await cli('quickstart --keep --no-pause --json', { home })
    open.push(() => cli('server stop -p quickstart', { home }))
    expect(kept.exit).toBe(0)
    const recording = await cli('scenario record --out q.yaml --from activity -p quickstart', { home })
    expect(recording.stderr + recording.stdout).toContain('Wrote 23 steps to q.yaml')
    writeFileSync(join(home, 'quickstart.yaml'), (await cli('help quickstart.yaml')).stdout)
    const fresh = await cli('scenario run q.yaml quickstart.yaml', { home })
    expect(fresh.stdout).toContain('2 passed')
    const port = await closedPort()
    const { env } = await started({ webhookLoopbackPorts: [port] })
    const files = 'q.yaml quickstart.yaml quickstart.yaml'
    const onEngine = await cli(`scenario run ${files} --webhook-port ${port}`, { cwd: home, env })
    expect(onEngine.stdout).toContain('3 passed, 0 failed,')
  })

  it('--out that cannot be written is refused before the recording, also with --force', async () => {
    const cwd = temporaryDir()
    const refused = (out: string) => cli(`scenario record --force --out ${out}`, { cwd })
    expect(await refused('.')).toMatchObject({ exit: 1, stderr: expect.stringContaining('cannot be written (EISDIR)') })
    expect(await refused('none/a.yaml')).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('cannot be written (ENOENT)'),
    })
    expect(await refused('/proc/a.yaml')).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('/proc/a.yaml cannot'),
    })
  })

  it.skipIf(onPostgres)('a server that stops ends the recording with a notice and a comment', async () => {
    const server = await started()
    const { text, stderr } = await recorded(server.env, async () => {
      await server.send(contract.apps.create, { name: 'Shop' }, server.jwt)
      await open.pop()?.()
    })
    expect(stderr).toContain('The server ended the recording here. What happened after that is not recorded.')
    expect(text).toContain('call: apps.create')
    expect(text.trimEnd().split('\n').at(-1)).toBe('# The server ended the recording here.')
  })

  it.skipIf(onPostgres)('records from before the recording become steps that create them', async () => {
    const server = await started()
    const seeded = await server.send(contract.platform.seedStore, {}, server.operatorKey)
    const [
      {
        id: appId,
        tokens: [{ token }],
      },
    ] = seeded.applications as unknown as [{ id: string; tokens: [{ token: string }] }]
    const { items } = await server.send(contract.templates.list, {}, token)
    const template = (items as unknown as { id: string; status: string }[]).find((it) => it.status === 'active')
    const order = { template_id: template?.id, external_issue_id: 'before-1', recipient_user_id: 'user-1' }
    const { credentials } = await server.send(contract.vouchers.issue, order, token)
    const [credential] = credentials as unknown as [{ type: string; value: string }]
    const { cwd, text } = await recorded(server.env, async () => {
      await server.send(
        contract.platform.addFault,
        { endpoint: 'vouchers.redeem', kind: 'error', times: 1 },
        server.operatorKey,
      )
      await server.send(contract.vouchers.redeem, { credential }, token)
      await server.send(contract.vouchers.redeem, { credential }, token)
      const unknown = { type: 'redeem_code', value: 'M9S3-46Q3-D25V-T4FJ' }
      await server.send(contract.vouchers.verify, { credential: unknown }, token)
      await server.send(contract.templates.list, {}, 'sop_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')
      const call = { endpoint: 'vouchers.issue', input: { ...order, external_issue_id: 'page-1' } }
      await server.send(contract.platform.callAsApp, call, server.operatorKey, { appId })
    })
    for (const secret of [token, credential.value, server.operatorKey, server.jwt]) expect(text).not.toContain(secret)
    expect(text).toMatch(/external_issue_id: "?before-1-\$\{run\}/)
    expect(text).toContain('code: SERVICE_UNAVAILABLE')
    expect((await cli('scenario run session.yaml', { cwd })).stdout).toContain('1 passed')
  })

  it.skipIf(onPostgres)('calls of the operator as a bot and as an account become steps of those', async () => {
    const server = await started()
    const seeded = await server.send(contract.platform.seedStore, {}, server.operatorKey)
    const [{ id: appId }] = seeded.applications as unknown as [{ id: string }]
    const [{ id: botId }] = seeded.bots as unknown as [{ id: string }]
    const { cwd, text } = await recorded(server.env, async () => {
      const info = { endpoint: 'webhook.info', input: {} }
      await server.send(contract.platform.callAsBot, info, server.operatorKey, { botId })
      const rename = { endpoint: 'apps.update', input: { appId, name: 'Tea shop' } }
      await server.send(contract.platform.callAsAccount, rename, server.operatorKey, { accountId: 'demo' })
    })
    for (const id of ['webhook.info', 'apps.update', 'bots.get']) expect(text).toContain(`call: ${id}`)
    expect((await cli('scenario run session.yaml', { cwd })).stdout).toContain('1 passed')
  })

  it.skipIf(onPostgres)('a reset begins the recording anew, and a draft from before it is created once', async () => {
    const { send, env, jwt, operatorKey } = await started()
    const input = {
      external_template_id: 'tea',
      name: 'Tea',
      type: 'gift',
      issuer_name: 'Shop',
      fulfiller_name: 'Shop',
    }
    const kind = { fulfillment_category: 'offline_service', acquisition_source: 'free_claim', issue_limit: 5 }
    const created = async () => {
      const app = await send(contract.apps.create, { name: 'Shop' }, jwt)
      const { token } = await send(contract.tokens.create, { name: 'a', scopes }, jwt, {
        appId: app.id as unknown as string,
      })
      const validity = { type: 'relative', duration_days: 30 }
      const { id } = await send(contract.templates.create, { ...input, ...kind, validity }, token as unknown as string)
      return { token: token as unknown as string, templateId: id as unknown as string }
    }
    const ofReset = await recorded(env, async () => {
      await created()
      await send(contract.platform.reset, {}, operatorKey)
      await send(contract.apps.create, { name: 'After' }, jwt)
    })
    expect(ofReset.text).toContain('# The state was reset at ')
    expect(ofReset.data.steps).toBe(1)
    const { token, templateId } = await created()
    const ofDraft = await recorded(env, async () => {
      await send(contract.templates.submit, {}, token, { templateId })
      await send(contract.platform.approveTemplate, {}, operatorKey, { templateId })
      await send(contract.templates.list, {}, token)
    })
    expect(ofDraft.text.match(/call: .*/g)).toEqual(
      [
        'apps.create',
        'tokens.create',
        'templates.create',
        'templates.submit',
        'platform.approveTemplate',
        'templates.list',
      ].map((it) => `call: ${it}`),
    )
    for (const { cwd } of [ofReset, ofDraft])
      expect((await cli('scenario run session.yaml', { cwd })).stdout).toContain('1 passed')
  })

  it.skipIf(onPostgres)('a recording with held, silent and disturbed work passes on a fresh server', async () => {
    const receiver = await newReceiver()
    const secret = 'the-secret-of-the-webhook'
    receiver.respond = ({ headers, body }) =>
      verifyWebhook({ headers, rawBody: body, secrets: [secret] }).ok ? 200 : 401
    const { send, env, jwt, operatorKey } = await started({ autoApprove: true, webhookLoopbackPorts: [receiver.port] })
    const operate = (endpoint: Endpoint, body: unknown = {}, ids = {}) => send(endpoint, body, operatorKey, ids)
    const { cwd, text } = await recorded(env, async () => {
      await operate(contract.platform.addFault, { endpoint: 'apps.create', kind: 'hold' })
      const held = send(contract.apps.create, { name: 'Held' }, jwt)
      await until(async () => ((await operate(contract.platform.faults)).held as unknown as unknown[]).length === 1)
      await operate(contract.platform.releaseCalls)
      await held
      await operate(contract.platform.addFault, { endpoint: 'bots.apply', kind: 'silence' })
      const hangingUp = new AbortController()
      const ofSilent = { name: 'Silent', username: 'silent_bot', scopes: ['messages:receive'] }
      const silent = send(contract.bots.apply, ofSilent, jwt, {}, hangingUp.signal).catch(() => {})
      await until(async () => ((await operate(contract.platform.bots)).items as unknown as unknown[]).length === 1)
      hangingUp.abort()
      await silent
      const bot = { name: 'Bot', username: 'some_bot', scopes: ['messages:receive'] }
      const { id } = await send(contract.bots.apply, bot, jwt)
      const botId = String(id)
      await send(contract.webhook.set, { url: receiver.url, secret_token: secret }, jwt, { botId })
      const attempts = async () => {
        const { items } = await operate(contract.platform.deliveries)
        return (items as unknown as Delivery[]).flatMap((it) => it.attempts).length
      }
      for (const [index, kind] of ['forged', 'duplicate', 'lost', 'late', undefined].entries()) {
        if (kind !== undefined) await operate(contract.platform.addFault, { endpoint: 'deliveries', kind })
        await operate(contract.platform.addUpdate, { type: 'ping', payload: {} }, { botId })
        // The late one arrives after the next one.
        const expected = kind === 'late' ? 3 : index + 1
        await until(async () => (await attempts()) === expected)
      }
      await operate(contract.platform.advanceClock, { seconds: 60 })
      await until(async () => (await attempts()) === 7)
    })
    for (const kind of ['forged', 'duplicate', 'lost']) expect(text).toContain(`a planted fault (${kind}) affected it`)
    expect(text.match(/kind: \w+/g)).toEqual(['kind: drop_response'])
    expect(text.match(/receive: ping/g)).toHaveLength(5)
    expect((await cli('scenario run session.yaml', { cwd })).stdout).toContain('1 passed')
  })

  it.skipIf(onPostgres)('a recording ends after the call of --until and leaves an existing file alone', async () => {
    const { send, env, jwt } = await started()
    const { cwd, data } = await recorded(
      env,
      () => send(contract.apps.create, { name: 'Shop' }, jwt),
      '--until apps.create',
    )
    expect(data).toEqual({ file: 'session.yaml', steps: 1, left_out: [] })
    const again = await cli('scenario record --out session.yaml', { cwd, env })
    expect([again.exit, again.stderr]).toEqual([1, expect.stringContaining('session.yaml exists and stays as it is.')])
  })

  it.skipIf(onPostgres)('a recording without a call writes no file', async () => {
    const { env } = await started()
    const unknown = await cli('scenario record --out session.yaml --until vouchers.reedem', { env })
    expect([unknown.exit, unknown.stderr]).toEqual([2, expect.stringContaining('There is no call "vouchers.reedem".')])
    const none = await cli('scenario record --out session.yaml --until 1ms', { env })
    expect([none.exit, none.stderr]).toEqual([2, expect.stringContaining('No call was recorded.')])
  })
})
