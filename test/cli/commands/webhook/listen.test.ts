import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { verifyWebhook } from '../../../../src/webhook/index.js'
import { pairsOf } from '../../../../src/workbench/header-pairs.js'
import { Inbox } from '../../../../src/workbench/inbox.js'
import { InboxWriter } from '../../../../src/workbench/inbox-writer.js'
import { cli, type Given, type Ran, temporaryDir } from '../../../support/cli/cli.js'
import { closedPort } from '../../../support/closed-port.js'
import { listen } from '../../../support/listen.js'
import { pageClient } from '../../../support/page/client.js'
import { chunksOf } from '../../../support/server/request-body.js'
import { secret, signed, updateBody } from '../../../support/webhook/listener.js'

const env = { VOUCHERCTL_WEBHOOK_SECRET: secret }

interface Started {
  readonly url: string
  readonly home: string
  readonly ran: Promise<Ran>
  stop(): Promise<Ran>
}

/** Starts `webhook listen` on a free port and waits until it is ready. */
async function start(args: string | readonly string[], given: Given = {}): Promise<Started> {
  const home = given.home ?? temporaryDir()
  const stopping = new AbortController()
  const flags = '--port 0 --ready-file ready.json --inbox inbox'.split(' ')
  const more = typeof args === 'string' ? args.split(' ').filter((it) => it !== '') : args
  const ran = cli(['webhook', 'listen', ...flags, ...more], {
    env,
    home,
    signal: stopping.signal,
    ...given,
  })
  const file = join(home, 'ready.json')
  // vi.waitFor would advance fake timers.
  while (!existsSync(file)) await turn()
  const { url } = JSON.parse(readFileSync(file, 'utf8'))
  return {
    url,
    home,
    ran,
    stop: () => {
      stopping.abort()
      return ran
    },
  }
}

/** Starts `webhook listen` with a --timeout that passes only when the test calls `pass`. */
async function startWithTimeout(args: string, ms: number) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const started = await start(`${args} --timeout ${ms}ms`)
  const pass = () => {
    vi.advanceTimersByTime(ms)
    vi.useRealTimers()
  }
  return { ...started, pass }
}

/** Sends a delivery signed with a 1970 timestamp, because the clock of these commands starts then. */
const post = (url: string, id: number | string, type = 'message', text = 'Hello') => {
  const body = updateBody(id, type, text)
  return fetch(url, { method: 'POST', body, headers: signed(body, id, [secret], 0) })
}

const linesOf = ({ stdout }: Ran) =>
  stdout
    .split('\n')
    .filter((it) => it !== '')
    .map((it) => JSON.parse(it))

async function application(statusOf: (index: number) => number = () => 200) {
  const got: { path: string; body: string; headers: string[] }[] = []
  const server = createServer(async (request, response) => {
    const chunks = await chunksOf(request)
    const { url: path = '', rawHeaders: headers } = request
    const index = got.push({ path, body: Buffer.concat(chunks).toString('latin1'), headers }) - 1
    response.writeHead(statusOf(index), { 'X-App': 'yes' }).end(`response ${index}`)
  })
  return { got, url: `http://127.0.0.1:${await listen(server)}` }
}

test('webhook listen --json prints a line per request, with a verified update', { tags: 'listener/1' }, async () => {
  const { url, stop } = await start('--json')
  await post(url, 7)
  await post(url, 7)
  const body = updateBody(8)
  await fetch(url, { method: 'POST', body, headers: signed(body, 8, ['another'], 0) })
  await fetch(url)
  const ran = await stop()
  expect([ran.exit, ran.stderr]).toEqual([0, ''])
  const [ok, duplicate, refused, other] = linesOf(ran)
  const update = { update_id: 7, type: 'message', body: JSON.parse(String(updateBody(7))) }
  const common = { time: expect.stringMatching(/^1970-01-01T00:00:00/), duration_ms: expect.any(Number) }
  expect(ok).toEqual({ ...common, verdict: 'ok', reason: null, status: 200, ...update, inbox_id: '1-1' })
  expect(duplicate).toEqual({ ...common, verdict: 'duplicate', reason: null, status: 200, ...update, inbox_id: '1-2' })
  expect(refused).toEqual({ ...common, verdict: 'refused', reason: 'bad_signature', status: 401, inbox_id: '1-3' })
  expect(other).toMatchObject({ verdict: 'refused', reason: 'method_not_allowed', status: 405, inbox_id: null })
})

test('webhook listen prints Ready, one line per delivery and why a signature is wrong', async () => {
  const port = await closedPort()
  const { url, stop } = await start(`--forward-to http://localhost:${port}/hook`, { zone: () => 480 })
  await post(url, 7)
  const body = updateBody(8)
  await fetch(url, { method: 'POST', body: `${body}\n`, headers: signed(body, 8, [secret], 0) })
  await fetch(url, { method: 'POST', body, headers: signed(body, 8, ['another'], 0) })
  const { stdout, stderr } = await stop()
  const [first = '', second = ''] = stdout.split('\n')
  expect(first).toMatch(/^1970-01-01 08:00:00\+08:00 ok {8}message #7 {22}502 {2} +\d+ ms 1-1$/)
  expect(stderr).toContain(
    `app_unreachable: Nothing accepts connections on 127.0.0.1:${port} and [::1]:${port} (ECONNREFUSED).\n`,
  )
  expect(second).toMatch(/^1970-01-01 08:00:00\+08:00 refused {3}bad_signature {19}401 {2} +\d+ ms 1-2$/)
  expect(stderr).toContain('Details of a delivery: `voucherctl webhook inbox show --inbox inbox`\n')
  expect(stderr).toContain(`Ready on ${url}. Ctrl-C stops it.`)
  expect(stderr).toContain(`Forwards to http://localhost:${port}/hook.`)
  expect(stderr).toContain('hint: The body here ends with a line break that was not signed')
  expect(stderr).toContain('hint: The signature matches no known mistake')
  expect(stdout + stderr).not.toContain(secret)
})

/** Sends a delivery whose header names a planted fault. */
const postWithFault = (url: string, id: number, fault: string, signing: readonly string[] = [secret], at = 0) => {
  const body = updateBody(id)
  const headers = { ...signed(body, id, signing, at), 'X-Platform-Fault': fault }
  return fetch(url, { method: 'POST', body, headers })
}

test('webhook listen and its inbox name the planted fault of a delivery', async () => {
  const port = await closedPort()
  const { url, home, stop } = await start(`--json --forward-to http://127.0.0.1:${port}`)
  await postWithFault(url, 7, 'duplicate')
  await postWithFault(url, 8, 'forged', ['another'])
  await postWithFault(url, 9, 'unheard-of', ['another'])
  const [duplicate, forged, unknown] = linesOf(await stop())
  expect([duplicate, forged]).toMatchObject([{ update_id: 7, fault: 'duplicate' }, { fault: 'forged' }])
  expect(unknown).not.toHaveProperty('fault')
  const inbox = (args: string, terminal = false) => cli(`webhook ${args} --inbox inbox`, { home, env, terminal })
  const listed = JSON.parse((await inbox('inbox list --verdict all --json')).stdout)
  expect(listed.items.map((it: { fault?: string }) => it.fault)).toEqual(['duplicate', 'forged', undefined])
  expect((await inbox('inbox list --verdict all')).stdout).toMatch(/1-2 .+ refused .+ forged\s*$/m)
  expect(JSON.parse((await inbox('inbox show 1-2 --json')).stdout)).toMatchObject({ fault: 'forged' })
  const shown = await inbox('inbox show 1-2', true)
  expect(shown.stdout).toContain('A planted fault (forged): the refusal is right.')
  expect(shown.stdout + shown.stderr).not.toContain('--explain')
  const verified = await inbox('verify --id 1-2 --explain')
  expect(verified.stdout).toContain('Cause: planted_fault. A planted fault (forged): the refusal is right.')
  const other = await inbox('inbox show 1-3', true)
  expect(other.stdout + other.stderr).toContain('webhook verify --id 1-3 --explain')
})

test('webhook listen says that a refusal by a planted fault is right', async () => {
  const { url, stop } = await start('')
  await postWithFault(url, 7, 'late')
  await postWithFault(url, 8, 'stale', [secret], 600)
  await postWithFault(url, 9, '<forged>', ['another'])
  const { stdout, stderr } = await stop()
  expect(stdout.split('\n').map((line) => line.replace(/^.* ms /, ''))).toEqual([
    '1-1 fault late',
    '1-2 fault stale',
    '1-3',
    '',
  ])
  expect(stderr.replace(/\s+/g, ' ')).toContain('hint: A planted fault (stale): the refusal is right.')
  expect(stderr).toContain('hint: The signature matches no known mistake')
})

test('webhook replay names the fault of a signature as recorded, and sends a new one without it', async () => {
  const app = await application((index) => (index === 0 ? 401 : 200))
  const { url, home, stop } = await start('--json')
  await postWithFault(url, 8, 'forged', ['another'])
  await stop()
  const replay = async (flags: string) => {
    const ran = await cli(`webhook replay --id 1-1 --to ${app.url} --inbox inbox ${flags}`, { home, env })
    return ran.stdout
  }
  expect(JSON.parse(await replay('--json'))).toMatchObject({ status: 401, fault: 'forged' })
  expect(JSON.parse(await replay('--resign --json'))).not.toHaveProperty('fault')
  expect(await replay('')).toMatch(/ {2}fault forged$/m)
  const named = app.got.map(({ headers }) => headers.some((it) => it.toLowerCase() === 'x-platform-fault'))
  expect(named).toEqual([true, false, true])
})

test('webhook listen --open --no-browser prints a link to a page that shows each delivery', async () => {
  let link: string | undefined
  const onStderr = (text: string) => (link ??= /^Page: (\S+)$/m.exec(text)?.[1])
  const { url, stop } = await start('--json --open --no-browser', { onStderr })
  await vi.waitFor(() => expect(link).toBeDefined(), { timeout: 30_000 })
  const client = await pageClient(link ?? '')
  const stream = await client.follow('/_platform/v1/activity?follow=true')
  await post(url, 7)
  expect(await stream.next()).toMatchObject({ kind: 'live' })
  expect(await stream.next()).toMatchObject({ kind: 'delivery', delivery: { delivery_id: '1-1', status: 200 } })
  expect(new URL(client.origin).port).not.toBe(new URL(url).port)
  const { exit } = await stop()
  expect(exit).toBe(0)
  await expect(stream.next()).rejects.toThrow()
  await expect(client.send('GET', '/_platform/v1/activity')).rejects.toThrow()
})

test('webhook listen refuses --no-browser without --open', async () => {
  const { exit, stderr } = await cli('webhook listen --no-browser', { env })
  expect([exit, stderr]).toEqual([2, expect.stringContaining('--no-browser needs --open.')])
})

test('webhook listen --ready-file writes URL, port and pid and removes the file at the end', async () => {
  const { url, home, stop } = await start('-q')
  const file = join(home, 'ready.json')
  const text = readFileSync(file, 'utf8')
  expect(text).toMatch(/^\{.*\}\n$/)
  expect(JSON.parse(text)).toEqual({ url, port: Number(new URL(url).port), pid: process.pid })
  expect(new URL(url).hostname).toBe('127.0.0.1')
  expect(await stop()).toMatchObject({ exit: 0, stdout: '', stderr: '' })
  expect(existsSync(file)).toBe(false)
})

test('webhook listen --route forwards one type to its URL, and --forward-to forwards all others', async () => {
  const [messages, others] = [await application(), await application(() => 204)]
  const { url, stop } = await start(`--json --route message=${messages.url}/m?a=1 --forward-to ${others.url}/rest`)
  expect((await post(`${url}/ignored`, 1)).status).toBe(200)
  expect((await post(url, 2, 'ping')).status).toBe(204)
  await stop()
  expect([messages.got.map((it) => it.path), others.got.map((it) => it.path)]).toEqual([['/m?a=1'], ['/rest']])
})

test('webhook listen --route prefers an exact type to the first matching wildcard or expression', async () => {
  const apps = [await application(), await application(), await application(), await application()] as const
  const [exact, wildcard, jq, others] = apps.map((it) => it.url)
  const route = (condition: string, to = '') => ['--route', `${condition}=${to}`]
  const routes = [
    ...route('.message.text == "a=b"', jq),
    ...route('voucher_*', wildcard),
    ...route('voucher_issued', exact),
  ]
  const { url, stop } = await start(['--json', ...routes, '--forward-to', others ?? ''])
  await post(url, 1, 'voucher_issued')
  await post(url, 2, 'voucher_redeemed')
  await post(url, 3, 'message', 'a=b')
  await post(url, 4, 'message', 'c')
  await stop()
  expect(apps.map(({ got }) => got.map(({ body }) => JSON.parse(body).update_id))).toEqual([[1], [2], [3], [4]])
})

test('webhook listen refuses a --route whose condition is no valid jq expression', async () => {
  const { exit, stderr } = await cli(['webhook', 'listen', '--port', '0', '--route', '.a |=http://127.0.0.1:9/'], {
    env: { VOUCHERCTL_WEBHOOK_SECRET: secret },
  })
  expect([exit, stderr]).toEqual([
    2,
    expect.stringContaining('.a | is neither an update type nor a valid jq expression'),
  ])
})

test('webhook listen --respond 500,timeout,204 sends 500, then no response, then always 204', async () => {
  let stdout = ''
  const { url, stop } = await start('--json --respond 500,timeout,204', { onStdout: (text) => (stdout += text) })
  expect((await post(url, 1)).status).toBe(500)
  const impatient = new AbortController()
  const body = updateBody(1)
  const left = fetch(url, { method: 'POST', body, headers: signed(body, 1, [secret], 0), signal: impatient.signal })
  left.catch(() => {})
  // The line of the second delivery is printed once the listener has decided on its response.
  await vi.waitFor(() => expect(stdout.split('\n')).toHaveLength(3), { timeout: 30_000 })
  const second = await Promise.race([left, new Promise((resolve) => setTimeout(resolve, 200, 'silence'))])
  expect(second).toBe('silence')
  impatient.abort()
  expect([(await post(url, 1)).status, (await post(url, 2)).status]).toEqual([204, 204])
  expect(linesOf(await stop()).map((it) => it.status)).toEqual([500, null, 204, 204])
})

test('webhook listen --delay waits before it responds', async () => {
  const { url, stop } = await start('--json --delay 60')
  await post(url, 1)
  const [line] = linesOf(await stop())
  expect(line.duration_ms).toBeGreaterThanOrEqual(59)
})

test('webhook listen --expect exits 0 after all expected deliveries and ignores duplicates', async () => {
  const { url, ran } = await start('--json --expect message=2 --expect ping=1 --respond 500,200')
  await post(url, 1)
  await post(url, 1)
  await post(url, 1)
  await post(url, 2, 'friend_request')
  await fetch(url, { method: 'POST', body: updateBody(3) })
  await post(url, 4, 'ping')
  await post(url, 5)
  const { exit, stdout, stderr } = await ran
  expect([exit, stderr]).toEqual([0, ''])
  expect(stdout.split('\n')).toHaveLength(8)
})

test('webhook listen --expect exits 124 after --timeout and names the missing deliveries', async () => {
  const { url, ran, pass } = await startWithTimeout('--json --expect message=2 --expect ping=1', 400)
  await post(url, 1)
  pass()
  const { exit, stderr } = await ran
  expect(exit).toBe(124)
  expect(JSON.parse(stderr).error).toMatchObject({
    code: 'NOT_ALL_ARRIVED',
    message: 'Timed out after 0.4 s; arrived: message 1 of 2, ping 0 of 1.',
    details: {
      missing: [
        { type: 'message', expected: 2, arrived: 1 },
        { type: 'ping', expected: 1, arrived: 0 },
      ],
    },
  })
})

test('webhook listen --max-events exits 0 after that many deliveries, or 124 after --timeout', async () => {
  const full = await start('--json --max-events 2')
  await post(full.url, 1)
  await fetch(full.url, { method: 'POST', body: updateBody(3) })
  await post(full.url, 2)
  expect(await full.ran).toMatchObject({ exit: 0, stderr: '' })
  const short = await startWithTimeout('--json --max-events 2', 200)
  await post(short.url, 1)
  short.pass()
  expect((await short.ran).exit).toBe(124)
})

test('webhook listen --insecure prints refused bodies and forwards none', { tags: 'listener/1' }, async () => {
  const app = await application()
  for (const [format, mark] of [
    ['--json', '"unverified":{"update_id":7'],
    ['', 'UNVERIFIED {"update_id":7'],
  ]) {
    const { url, stop } = await start(`${format} --insecure --forward-to ${app.url}`, { env: {} })
    expect((await fetch(url, { method: 'POST', body: updateBody(7) })).status).toBe(401)
    const { stdout } = await stop()
    expect(stdout).toContain(mark)
    expect(stdout).toMatch(/refused/)
  }
  expect(app.got).toEqual([])
})

test('webhook listen accepts each given secret, and exits 3 without one', { tags: 'workbench-secrets/1' }, async () => {
  const home = temporaryDir()
  writeFileSync(join(home, 'old'), 'old-secret\n')
  writeFileSync(join(home, 'new'), `${secret}\r\n`)
  const { url, stop } = await start('--json --secret-file old --secret-file new', { home, env: {} })
  expect((await post(url, 1)).status).toBe(200)
  await stop()
  const { exit, stderr, stdout } = await cli('webhook listen --json')
  expect([exit, stdout, JSON.parse(stderr).error.details]).toEqual([3, '', { missing: ['--secret-file'] }])
})

test.each([
  ['--port 70000', /--port must be/],
  ['--forward-to shop', /--forward-to must be an http/],
  ['--forward-to http://a:b@shop.example/', /without user name and password/],
  ['--route message', /--route must be TYPE=URL/],
  ['--respond 200,100', /--respond must be statuses/],
  ['--respond 000', /--respond must be statuses/],
  ['--expect message=0', /--expect must be TYPE=N/],
  ['--expect message=1 --expect message=2', /--expect names message twice/],
  ['--respond 200 --forward-to http://localhost/', /--respond and --forward-to cannot be combined/],
])('webhook listen %s exits 2 with a message that matches %s', async (args, message) => {
  const { exit, stderr } = await cli(`webhook listen ${args}`, { env })
  expect([exit, stderr]).toEqual([2, expect.stringMatching(message)])
})

test('webhook listen on a port in use exits 1 and suggests --port 0', async () => {
  const port = await listen(createServer())
  const { exit, stderr } = await cli(`webhook listen --port ${port} --json --inbox inbox`, { env })
  expect(exit).toBe(1)
  expect(JSON.parse(stderr).error).toMatchObject({ code: 'EADDRINUSE', hint: expect.stringContaining('--port 0') })
})

test('webhook listen exits 0 if the reader of its output closes the pipe', async () => {
  const { url, ran } = await start('--json', { linesTaken: 0 })
  await post(url, 1)
  expect((await ran).exit).toBe(0)
})

test('webhook listen writes no secret to its inbox, a folder of mode 0700 with files of 0600', async () => {
  const { url, home, stop } = await start('--json')
  await post(url, 1)
  const file = join(home, 'inbox', '000001.ndjson')
  expect(readFileSync(file).includes(secret)).toBe(false)
  expect([statSync(file).mode & 0o777, statSync(join(home, 'inbox')).mode & 0o777]).toEqual([0o600, 0o700])
  await stop()
})

/** Creates an inbox with one delivered, one failed and one refused delivery. */
async function fillInbox() {
  const home = temporaryDir()
  const app = await application((index) => (index === 1 ? 500 : 200))
  const { url, stop } = await start(`--json --forward-to ${app.url}/hook`, { home })
  await post(url, 1)
  await post(url, 2, 'ping', 'é')
  await fetch(`${url}/x?y=1`, { method: 'POST', body: 'no json', headers: { 'X-Odd': 'yes' } })
  await stop()
  return { home, app }
}

test('webhook inbox list has filters and a count, with the newest last', { tags: 'refused-deliveries/1' }, async () => {
  const { home } = await fillInbox()
  const list = async (args: string) => {
    const { stdout, stderr, exit } = await cli(`webhook inbox list --inbox inbox --json ${args}`, { home })
    expect([exit, stderr]).toEqual([0, ''])
    return JSON.parse(stdout).items.map((it: { id: string }) => it.id)
  }
  expect(await list('')).toEqual(['1-1', '1-2'])
  expect(await list('--verdict all')).toEqual(['1-1', '1-2', '1-3'])
  expect(await list('--failed')).toEqual(['1-2'])
  expect(await list('--type ping')).toEqual(['1-2'])
  expect(await list('--verdict refused')).toEqual(['1-3'])
  expect(await list('--limit 1')).toEqual(['1-2'])
  expect(await list('--since 1970-01-01T00:00:01Z')).toEqual([])
  expect((await cli('webhook inbox list --inbox inbox --since yesterday', { home })).exit).toBe(2)
})

test('a line of webhook listen with a local time and a long type fits a terminal of 80 columns', async () => {
  const { url, stop } = await start('', { terminal: true, columns: 80, zone: () => 480 })
  await post(url, 1795376315435, 'voucher_redeemed')
  const shown = stripVTControlCharacters((await stop()).stdout)
  const line = shown.split('\n').find((it) => it.includes('voucher_redeemed')) ?? ''
  expect(line).toMatch(/^01-01 08:00:00\+08:00 ok {8}voucher_redeemed #1795376315435 /)
  expect(line.length).toBeLessThanOrEqual(80)
})

test('webhook inbox list without a match names the filters and counts the deliveries', async () => {
  const { home } = await fillInbox()
  const dir = join(home, 'inbox')
  const list = async (args: string) => (await cli(`webhook inbox list ${args}`, { home })).stdout
  const searched = `Nothing to show: ${dir} holds 2 deliveries; none matches`
  const refused = '1 refused: see them with --verdict refused.'
  expect(await list('--inbox inbox --type voucher_issued')).toBe(`${searched} --type voucher_issued. ${refused}\n`)
  expect(await list('--inbox inbox --failed --since 1970-01-01T00:00:01Z')).toBe(
    `${searched} --failed --since 1970-01-01 00:00:01Z. ${refused}\n`,
  )
  expect(await list('--inbox inbox --verdict duplicate')).toBe(`Nothing to show: no delivery in ${dir} is duplicate.\n`)
  expect(await list('')).toMatch(/^Nothing to show: the inbox .*inbox is empty\.\n$/)
})

test.each(['inbox list', 'inbox show 1-1', 'inbox clear', 'replay --last', 'verify --id 1-1', 'sign --id 1-1'])(
  'webhook %s exits 5 when the --inbox folder is missing',
  { tags: 'named-inboxes-and-types/1' },
  async (command) => {
    const { exit, stdout, stderr } = await cli(`webhook ${command} --inbox nowhere --json`, { env })
    expect([exit, stdout, JSON.parse(stderr).error]).toMatchObject([
      5,
      '',
      { code: 'INBOX_NOT_FOUND', hint: expect.stringContaining('voucherctl webhook listen --inbox nowhere') },
    ])
  },
)

test('webhook inbox list refuses a --type that no delivery has', { tags: 'named-inboxes-and-types/1' }, async () => {
  const { url, home, stop } = await start('--json')
  await post(url, 1, 'shop_closed')
  await stop()
  const list = (type: string) => cli(`webhook inbox list --inbox inbox --type ${type} --json`, { home })
  expect(JSON.parse((await list('shop_closed')).stdout).items).toHaveLength(1)
  const mistyped = await list('mesage')
  expect([mistyped.exit, mistyped.stdout, JSON.parse(mistyped.stderr).error.hint]).toEqual([
    2,
    '',
    'Did you mean message?',
  ])
  expect((await list('unknown_type')).stderr).toContain('Known are message, ')
})

test('webhook inbox list and replay skip a damaged line and exit 11', { tags: 'inbox-damage/1' }, async () => {
  const { home, app } = await fillInbox()
  const file = join(home, 'inbox', '000001.ndjson')
  const bytes = readFileSync(file)
  bytes[bytes.indexOf('"body":"')] = 0
  writeFileSync(file, bytes)
  const warning = `warning: line 1 of ${file} is damaged. It was skipped and stays in the file.\n`
  const listed = await cli('webhook inbox list --inbox inbox --json', { home })
  expect([listed.exit, listed.stderr]).toEqual([11, warning])
  expect(JSON.parse(listed.stdout).items.map((it: { id: string }) => it.id)).toEqual(['1-2'])
  const replayed = await replay(home, `--since 1h --to ${app.url}`)
  expect([replayed.exit, replayed.stderr]).toEqual([11, warning])
  expect(linesOf(replayed).map((it) => it.id)).toEqual(['1-2'])
  expect((await cli('webhook inbox show 1-1 --inbox inbox', { home })).exit).toBe(5)
  expect(readFileSync(file).includes(bytes)).toBe(true)
})

test('webhook commands exit 2 if the inbox contains a file of another program', { tags: 'inbox-files/3' }, async () => {
  const home = temporaryDir()
  mkdirSync(join(home, 'inbox'))
  const file = join(home, 'inbox', '000001.ndjson')
  writeFileSync(file, '{"level":"info"}\n')
  for (const command of ['inbox list', 'inbox clear --yes', 'replay --last', 'listen --port 0']) {
    const { exit, stderr } = await cli(`webhook ${command} --inbox inbox --json`, { home, env })
    expect([exit, JSON.parse(stderr).error], command).toMatchObject([
      2,
      { code: 'INBOX_FORMAT', message: `${file} is not an inbox file of voucherctl.` },
    ])
  }
})

test('webhook inbox show prints headers, body, verdict and responses; --raw prints only the body', async () => {
  const { home } = await fillInbox()
  const { stdout } = await cli('webhook inbox show 1-2 --inbox inbox --json', { home })
  const shown = JSON.parse(stdout)
  expect(shown).toMatchObject({ id: '1-2', verdict: 'ok', update_id: 2, type: 'ping', method: 'POST', url: '/' })
  expect(shown.headers.map(([name]: [string]) => name)).toContain('X-Platform-Signature-V2')
  expect(shown.responses).toMatchObject([{ status: 500, to: expect.stringContaining('/hook'), replay: false }])
  expect(shown.responses[0].headers).toContainEqual(['X-App', 'yes'])
  expect(shown.responses[0]).toMatchObject({
    body_base64: Buffer.from('response 1').toString('base64'),
    body_bytes: 10,
  })
  expect((await cli('webhook inbox show 1-2 --inbox inbox', { home })).stdout).toMatch(
    /responded 500 after \d+ ms {2}by http.*\n(?:.+\n)*X-App: yes\n(?:.+\n)*\nresponse 1\n/,
  )
  expect(shown.body).toEqual(JSON.parse(String(updateBody(2, 'ping', 'é'))))
  const raw = await cli('webhook inbox show 2 --inbox inbox --raw', { home })
  expect(raw.stdout).toBe(updateBody(2, 'ping', 'é').toString('latin1'))
  const page = (await cli('webhook inbox show 1-3 --inbox inbox', { home })).stdout
  expect(page).toMatch(/^1-3 .*refused \(missing_header\)\n\nPOST \/x\?y=1\n/)
  expect(page).toContain('X-Odd: yes')
  expect(page).toContain('no json')
  const { exit, stderr } = await cli('webhook inbox show 9-9 --inbox inbox --json', { home })
  expect([exit, JSON.parse(stderr).error.code]).toEqual([5, 'DELIVERY_NOT_RECORDED'])
  expect((await cli('webhook inbox show --inbox inbox', { home })).exit).toBe(3)
})

test('webhook inbox show prints 64 KiB of a response, no escape sequences', { tags: 'inbox-files/1' }, async () => {
  const body = Buffer.from(`\u001b]0;owned\u0007${'x'.repeat(70_000)}`)
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('X-Odd', '\u009b2Jred').end(body))
  })
  const { url, home, stop } = await start(`--json --forward-to http://127.0.0.1:${await listen(server)}`)
  await post(url, 1)
  await stop()
  const { stdout } = await cli('webhook inbox show 1-1 --inbox inbox', { home })
  expect(stdout).toContain('The first 65536 of 70010 bytes were recorded.')
  expect(stdout).toMatch(/^X-Odd: red$/m)
  expect(stdout).not.toMatch(/\u001b|\u009b|owned/)
})

test('webhook inbox show prints a body without terminal control characters', async () => {
  const { url, home, stop } = await start('--json')
  await fetch(url, { method: 'POST', body: '\u001b]0;owned\u0007text' })
  await stop()
  const { stdout } = await cli('webhook inbox show 1-1 --inbox inbox', { home })
  expect(stdout).toContain('text')
  expect(stdout).not.toMatch(/\u001b|owned/)
})

test('webhook inbox clear removes every delivery, also while a listener uses the inbox', async () => {
  const { home } = await fillInbox()
  const count = () => new Inbox(join(home, 'inbox')).count
  expect((await cli('webhook inbox clear --inbox inbox --dry-run', { home })).stdout).toContain('remove every delivery')
  const writer = new InboxWriter(join(home, 'inbox'))
  const cleared = await cli('webhook inbox clear --inbox inbox --yes --json', { home })
  expect(JSON.parse(cleared.stdout)).toMatchObject({ removed: 3, left: 0 })
  expect(count()).toBe(0)
  await writer.close()
})

test('webhook inbox clear --before removes deliveries older than a time or a duration', async () => {
  const { home } = await fillInbox()
  const clear = (args: string, now = 0) => cli(`webhook inbox clear --inbox inbox --yes --json ${args}`, { home, now })
  expect(JSON.parse((await clear('--before 1h')).stdout)).toMatchObject({ removed: 0, left: 3, bytes: 0 })
  expect((await clear('--before 1970-01-02T00:00:00Z --dry-run')).stdout).toContain('before 1970-01-02T00:00:00.000Z')
  expect((await clear('--before yesterday')).exit).toBe(2)
  expect(JSON.parse((await clear('--before 1h', 7_200_000)).stdout)).toMatchObject({ removed: 3, left: 0 })
})

const replay = (home: string, args: string, given: Given = {}) =>
  cli(`webhook replay --inbox inbox --json ${args}`, { home, ...given })

test('webhook replay --failed resends failed deliveries to their URL', { tags: 'replay-of-deliveries/1' }, async () => {
  const { home, app } = await fillInbox()
  const ran = await replay(home, '--failed')
  expect([ran.exit, ran.stderr]).toEqual([0, ''])
  expect(linesOf(ran)).toEqual([
    {
      id: '1-2',
      update_id: 2,
      type: 'ping',
      to: `${app.url}/hook`,
      status: 200,
      duration_ms: expect.any(Number),
      error: null,
    },
  ])
  expect(app.got[2]).toEqual(app.got[1])
  expect(await replay(home, '--failed')).toMatchObject({ exit: 0, stdout: '' })
  const shown = JSON.parse((await cli('webhook inbox show 1-2 --inbox inbox --json', { home })).stdout)
  expect(shown.responses).toMatchObject([{ status: 500 }, { status: 200, replay: true }])
})

test('webhook replay --last and --since select only verified deliveries, while --id selects any', async () => {
  const { home } = await fillInbox()
  const other = await application()
  expect(linesOf(await replay(home, `--last --to ${other.url}/b`)).map((it) => it.id)).toEqual(['1-2'])
  expect(linesOf(await replay(home, `--since 1h --to ${other.url}`)).map((it) => it.id)).toEqual(['1-1', '1-2'])
  expect(linesOf(await replay(home, `--id 1-3 --id 1 --to ${other.url}`)).map((it) => it.id)).toEqual(['1-3', '1-1'])
  expect(other.got.map((it) => it.body)[3]).toBe('no json')
  expect(await replay(home, '--id 7-7')).toMatchObject({ exit: 5, stdout: '' })
  expect(await replay(home, '--id 1-3')).toMatchObject({ exit: 3, stderr: expect.stringContaining('--to') })
})

test('webhook replay --set signs changes again, unless --as-recorded', { tags: 'replay-of-deliveries/1' }, async () => {
  const { home } = await fillInbox()
  const other = await application()
  const set = (args: string) =>
    replay(home, `--id 1-1 --to ${other.url} ${args}`, { env: { VOUCHERCTL_WEBHOOK_SECRET: secret } })
  const verdict = (index: number) => {
    const { body = '', headers = [] } = other.got[index] ?? {}
    return verifyWebhook({ headers: Object.fromEntries(pairsOf(headers)), rawBody: body, secrets: [secret], now: 0 })
  }
  expect(await set('--set message.text=Changed --set update_id=77')).toMatchObject({ exit: 0, stderr: '' })
  expect(JSON.parse(other.got[0]?.body ?? '')).toMatchObject({ update_id: 77, message: { text: 'Changed' } })
  expect(verdict(0)).toMatchObject({ ok: true })
  await set('--set message.text=Changed --as-recorded')
  expect(verdict(1)).toMatchObject({ ok: false, reason: 'bad_signature' })
})

test('webhook replay --set refuses an unknown member before it sends anything', async () => {
  const { home, app } = await fillInbox()
  const before = app.got.length
  const ran = await replay(home, '--id 1-1 --set message.txt=Hi', { env: { VOUCHERCTL_WEBHOOK_SECRET: secret } })
  expect([ran.exit, JSON.parse(ran.stderr).error.hint, app.got.length]).toEqual([
    2,
    'Did you mean message.text?',
    before,
  ])
})

test('webhook replay warns about a delivery that the listener refused as stale', async () => {
  const { home, app } = await fillInbox()
  const writer = new InboxWriter(join(home, 'inbox'))
  const common = { at: 0, method: 'POST', url: '/', headers: [], update_id: null, type: null, body: Buffer.from('{}') }
  const stale = await writer.recordDelivery({ ...common, verdict: 'refused', reason: 'stale' })
  await writer.close()
  const warning = expect.stringContaining('warning: some timestamps are older than 5 minutes')
  expect(await replay(home, `--id ${stale} --to ${app.url}`)).toMatchObject({ exit: 0, stderr: warning })
  expect(await replay(home, `--id 1-3 --to ${app.url}`)).toMatchObject({ exit: 0, stderr: '' })
})

test('webhook replay --failed skips deliveries never forwarded and exits 3 if none remains', async () => {
  const { home, app } = await fillInbox()
  const { url, stop } = await start('--respond 500', { home })
  await post(url, 9)
  await stop()
  const ran = await replay(home, '--failed')
  expect([ran.exit, linesOf(ran).map((it) => it.id)]).toEqual([0, ['1-2']])
  expect(ran.stderr).toMatch(/^warning: 1 left out that no application ever got; .*--to URL.*\n$/)
  expect(await replay(home, '--failed')).toMatchObject({ exit: 3, stdout: '' })
  const all = await replay(home, `--failed --to ${app.url}/hook`)
  expect([all.exit, all.stderr, linesOf(all).map((it) => it.update_id)]).toEqual([0, '', [9]])
})

test('webhook replay --resign sends the same body, signed again', { tags: 'replay-of-deliveries/1' }, async () => {
  const { home, app } = await fillInbox()
  const ran = await replay(home, '--last --resign', { env: { VOUCHERCTL_WEBHOOK_SECRET: 'fresh' } })
  expect(ran.exit).toBe(0)
  const [, before, after] = app.got
  const fresh = signed(updateBody(2, 'ping', 'é'), 2, ['fresh'], 0)['X-Platform-Signature-V2']
  const old = signed(updateBody(2, 'ping', 'é'), 2, [secret], 0)['X-Platform-Signature-V2']
  expect(after).toEqual({ ...before, headers: before?.headers.map((it) => (it === old ? fresh : it)) })
  expect(await replay(home, '--last --resign')).toMatchObject({ exit: 3 })
  expect(await replay(home, '--last --resign --as-recorded', { env })).toMatchObject({ exit: 2 })
  expect(await replay(home, '--last --secret-file x')).toMatchObject({ exit: 2 })
})

test('webhook replay exits 9 for a 5xx or no response, 8 for a 4xx', { tags: 'replay-of-deliveries/1' }, async () => {
  const { home } = await fillInbox()
  const statuses = [404, 503, 404]
  const app = await application((index) => statuses[index] ?? 200)
  expect((await replay(home, `--last --dry-run --to ${app.url}`)).stdout).toContain(`send 1-2 to ${app.url}/`)
  expect(app.got).toEqual([])
  expect((await replay(home, `--last --to ${app.url}`)).exit).toBe(8)
  expect((await replay(home, `--since 1h --to ${app.url}`)).exit).toBe(9)
  expect((await replay(home, `--last --to http://127.0.0.1:${await closedPort()}`)).exit).toBe(9)
  expect((await replay(home, '')).exit).toBe(2)
  expect((await replay(home, '--last --failed')).exit).toBe(2)
})

test('webhook replay records its result while a listener uses the same inbox', async () => {
  const home = temporaryDir()
  let status = 500
  const app = await application(() => status)
  const { url, stop } = await start(`--json --forward-to ${app.url}`, { home })
  await post(url, 1)
  // The listener records the result after it has responded.
  await vi.waitFor(() => expect(new Inbox(join(home, 'inbox')).find({})[0]?.status).toBe(500), 30_000)
  status = 200
  expect((await replay(home, '--failed')).exit).toBe(0)
  await post(url, 2)
  await stop()
  expect(new Inbox(join(home, 'inbox')).find({}).map((it) => [it.id, it.status])).toEqual([
    ['1-1', 200],
    ['1-2', 200],
  ])
})

const deep = '['.repeat(20_000) + ']'.repeat(20_000)
const deepUpdate = `{"update_id":1,"type":"message","message":${deep}}`

test.each([deep, deepUpdate])(
  'webhook listen prints a body nested 20,000 levels deep as text and keeps running',
  async (body) => {
    for (const args of ['--json --insecure', '--insecure', '--json', '']) {
      const { url, home, stop } = await start(args)
      await fetch(url, { method: 'POST', body, headers: signed(Buffer.from(body), 1, ['another'], 0) })
      await post(url, 7)
      const ran = await stop()
      expect([ran.exit, ran.stderr.includes('UNEXPECTED')], args).toEqual([0, false])
      expect(/ok +message #7|"update_id":7/.test(ran.stdout), args).toBe(true)
      if (args !== '--json --insecure') continue
      const told = linesOf(ran)
      expect(told).toMatchObject([{ unverified: { update_id: null, body } }, { update_id: 7, verdict: 'ok' }])
      const shown = await cli(`webhook inbox show ${told[0].inbox_id} --inbox inbox --json`, { home })
      expect([shown.exit, shown.stderr]).toEqual([0, ''])
    }
  },
)
