import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type MismatchCause, signWebhook } from '../../../../src/webhook/index.js'
import { mismatchCauses } from '../../../../src/webhook/mismatch-causes.js'
import { InboxWriter } from '../../../../src/workbench/inbox-writer.js'
import { cli, temporaryDir } from '../../../support/cli/cli.js'

const secret = 'whsec_test_secret_0123456789abcdef'
const seconds = 1_795_255_200
const now = seconds * 1000
const body = '{"update_id":7,"type":"ping","text":"ü/€","ping":{}}'
const [SIGNATURE, TIMESTAMP, UPDATE_ID] = ['X-Platform-Signature-V2', 'X-Platform-Timestamp', 'X-Platform-Update-Id']

interface Recorded {
  readonly body?: string | Uint8Array
  readonly signedBody?: string | Uint8Array
  readonly signingSecret?: string | Uint8Array
  /** Contents of the secret files. */
  readonly secrets?: readonly string[]
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly flags?: string
  readonly now?: number
}

/** Runs `webhook verify` on files with the given contents. */
async function verify(recorded: Recorded) {
  const { signedBody = body, signingSecret = secret, secrets = [secret], flags = '--explain --json' } = recorded
  const dir = temporaryDir()
  const file = (name: string, content: string | Uint8Array) => {
    writeFileSync(join(dir, name), content)
    return join(dir, name)
  }
  const signed = signWebhook({ rawBody: signedBody, secrets: [signingSecret], timestamp: seconds, updateId: 7 })
  const headers = Object.entries({ ...signed, ...recorded.headers }).filter(([, value]) => value !== undefined)
  const args = [
    '--body-file',
    file('body', recorded.body ?? signedBody),
    '--headers-file',
    file('headers', headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')),
    ...secrets.flatMap((it, index) => ['--secret-file', file(`secret-${index}`, it)]),
    ...flags.split(' ').filter((it) => it !== ''),
  ]
  return cli(['webhook', 'verify', ...args], { now: recorded.now ?? now })
}

const mac = (key: string, ...signed: string[]) => {
  const hmac = createHmac('sha256', key)
  for (const it of signed) hmac.update(it)
  return hmac.digest('hex')
}
const right = mac(secret, `${seconds}.`, body)
const signature = (value: string) => ({ headers: { [SIGNATURE]: value } })

/**
 * Deliveries by the cause of their mismatch, which depends on how the command reads headers, secrets and bytes from
 * files. test/webhook/explain.test.ts has the other causes.
 */
const causes: Partial<Record<MismatchCause, Recorded>> = {
  missing_header: { headers: { [UPDATE_ID]: undefined } },
  repeated_header: { headers: { [TIMESTAMP]: `${seconds}\r\n${TIMESTAMP}: ${seconds}` } },
  stale: { now: now + 301_000 },
  malformed_signature: signature('yes'),
  old_secret: { secrets: ['new-secret', secret] },
  secret_trailing_newline: { secrets: [`${secret}\n\n`] },
  secret_trimmed: { signingSecret: `${secret}\n` },
  body_trailing_newline_added: { body: `${body}\n` },
  body_trailing_newline_removed: { signedBody: `${body}\n`, body },
  body_bom_added: { body: `\ufeff${body}` },
  body_latin1: { signedBody: '{"update_id":7,"text":"ü"}', body: Buffer.from('{"update_id":7,"text":"ü"}', 'latin1') },
  body_invalid_utf8_replaced: { signedBody: Buffer.from([0x22, 0xff, 0x22]), body: '"\ufffd"' },
  body_too_long: { body: 'a'.repeat(65_537) },
  body_empty: { body: '' },
}

test.each(Object.entries(causes))(
  'webhook verify --explain names the cause %s and prints a fix',
  async (cause, recorded) => {
    const { exit, stdout, stderr } = await verify(recorded)
    const { fix } = mismatchCauses[cause as MismatchCause]
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({ cause, fix, valid: cause === 'old_secret' })
    expect(exit).toBe(cause === 'old_secret' ? 0 : 10)
    const shown = await verify({ ...recorded, flags: '--explain' })
    expect(shown.stdout).toContain(`Cause: ${cause}.`)
    expect(shown.stdout + shown.stderr).not.toContain(secret)
  },
)

test('webhook verify --explain detects a signature made with an empty secret', async () => {
  const { exit, stdout } = await verify(signature(mac('', `${seconds}.`, body)))
  expect([exit, JSON.parse(stdout).cause]).toEqual([10, 'empty_secret'])
})

test('webhook verify prints id, type and matching secret of a valid delivery and exits 0', async () => {
  const { exit, stdout } = await verify({ flags: '--json', secrets: ['other', `${secret}\r\n`] })
  expect([exit, JSON.parse(stdout)]).toEqual([
    0,
    {
      valid: true,
      reason: null,
      message: 'update 7, signed by secret 2 of 2.',
      update_id: 7,
      type: 'ping',
      secret: 2,
    },
  ])
  expect((await verify({ flags: '' })).stdout).toBe('✓ Valid: update 7.\n')
})

test('webhook verify without --explain prints the reason but no cause', { tags: 'synthetic-updates/3' }, async () => {
  const { exit, stdout } = await verify({ body: `${body}\n`, flags: '--json' })
  expect([exit, JSON.parse(stdout)]).toMatchObject([10, { valid: false, reason: 'bad_signature' }])
  expect(JSON.parse(stdout)).not.toHaveProperty('cause')
})

test('webhook verify --explain says if no known mistake explains a wrong signature', async () => {
  const { exit, stdout } = await verify({ secrets: ['another'], flags: '--explain' })
  expect([exit, stdout.split('\n')[2]]).toEqual([10, expect.stringContaining('The signature matches no known mistake')])
})

test.each([
  ['', 10],
  ['--tolerance 20m', 0],
  [`--timestamp ${seconds + 300}`, 0],
  [`--timestamp ${seconds + 301}`, 10],
  ['--tolerance 0', 10],
])('webhook verify of a delivery from 15 minutes ago with the flags %j exits %i', async (flags, exit) => {
  expect((await verify({ now: now + 900_000, flags })).exit).toBe(exit)
})

test.each([
  [
    'lines below a request line',
    (it: [string, string][]) => `POST / HTTP/1.1\n${it.map((pair) => pair.join(':\t')).join('\n')}\n\n`,
    0,
  ],
  ['a JSON object', (it: [string, string][]) => JSON.stringify(Object.fromEntries(it)), 0],
  [
    'a JSON object of lists',
    (it: [string, string][]) =>
      JSON.stringify(Object.fromEntries(it.map(([name, value]) => [name.toLowerCase(), [value]]))),
    0,
  ],
  ['a JSON list of pairs', (it: [string, string][]) => JSON.stringify(it), 0],
  ['a line that is not a header', () => 'X-Platform-Timestamp 5', 2],
  ['broken JSON', () => '{"a":', 2],
  ['JSON that is not headers', () => '{"a":5}', 2],
  ['JSON of a list of names', () => '["a","b"]', 2],
  ['nothing', () => '', 10],
] as const)('webhook verify with a headers file of %s exits %i', async (_, write, exit) => {
  const dir = temporaryDir()
  const headers = signWebhook({ rawBody: body, secrets: [secret], timestamp: seconds, updateId: 7 })
  writeFileSync(join(dir, 'headers'), write(Object.entries(headers)))
  const args = ['webhook', 'verify', '--body-file', '-', '--headers-file', join(dir, 'headers')]
  const ran = await cli(args, { now, stdin: body, env: { VOUCHERCTL_WEBHOOK_SECRET: secret } })
  expect(ran.exit).toBe(exit)
})

test.each([
  ['verify --body-file - --headers-file -', '--body-file and --headers-file cannot both read stdin'],
  ['verify --body-file x --headers-file y --secret-file - --secret-file -', '--secret-file - was given twice'],
  ['sign --body-file - --secret-file -', '--body-file and --secret-file cannot both read stdin'],
  ['sign --body-file - --token-file -', '--body-file and --token-file cannot both read stdin'],
  ['sign --body-file x --secret-file a --secret-file b --secret-file c', 'at most twice'],
])('webhook %s exits 2 and says which flags conflict', async (args, words) => {
  const { exit, stdout, stderr } = await cli(`webhook ${args}`, { stdin: body })
  expect([exit, stdout]).toEqual([2, ''])
  expect(stderr).toContain(words)
})

test.each([
  ['sign --body-file -', 'Missing: --secret-file'],
  ['sign', '--body-file'],
  ['verify --headers-file x', '--body-file'],
  ['verify --body-file x', '--headers-file'],
])('webhook %s exits 3 and names the missing flag %s', async (args, words) => {
  const { exit, stderr } = await cli(`webhook ${args}`, { stdin: body })
  expect(exit).toBe(3)
  expect(stderr).toContain(words)
})

test('webhook sign prints headers that curl and webhook verify can read', async () => {
  const dir = temporaryDir()
  for (const [name, content] of Object.entries({ body, secret: `${secret}\n` })) writeFileSync(join(dir, name), content)
  const given = { cwd: dir, now }
  const at = (name: string) => join(dir, name)
  const signed = await cli(`webhook sign --body-file ${at('body')} --secret-file ${at('secret')}`, given)
  expect(signed.stdout).toBe(`${SIGNATURE}: ${right}\n${TIMESTAMP}: ${seconds}\n${UPDATE_ID}: 7\n`)
  for (const format of ['', '--json']) {
    const { stdout } = await cli(
      `webhook sign --body-file ${at('body')} --secret-file ${at('secret')} ${format}`,
      given,
    )
    writeFileSync(at('headers'), stdout)
    const flags = `--body-file ${at('body')} --headers-file ${at('headers')} --secret-file ${at('secret')}`
    expect((await cli(`webhook verify ${flags}`, given)).exit).toBe(0)
  }
})

test('webhook sign signs with --timestamp, --update-id and two secrets, the new secret first', async () => {
  const dir = temporaryDir()
  for (const name of ['new', 'old']) writeFileSync(join(dir, name), `${name}\n`)
  const args = `webhook sign --body-file - --secret-file ${join(dir, 'new')} --secret-file ${join(dir, 'old')}`
  const { exit, stdout } = await cli(`${args} --timestamp 5 --update-id 90071992547409931 --json`, {
    stdin: 'any bytes',
  })
  expect([exit, JSON.parse(stdout)]).toEqual([
    0,
    {
      [SIGNATURE]: `${mac('new', '5.any bytes')},${mac('old', '5.any bytes')}`,
      [TIMESTAMP]: '5',
      [UPDATE_ID]: '90071992547409931',
    },
  ])
})

test('webhook sign of a body without an update_id exits 2 and names --update-id', async () => {
  const env = { VOUCHERCTL_WEBHOOK_SECRET: secret }
  const { exit, stderr } = await cli('webhook sign --body-file -', { stdin: '[]', env })
  expect([exit, stderr]).toEqual([2, expect.stringContaining('--update-id')])
})

/** Creates an inbox with a valid delivery and one with an altered body, both received at Unix time 1,000. */
async function inboxOfTwo() {
  const home = temporaryDir()
  const writer = new InboxWriter(join(home, 'inbox'))
  const raw = Buffer.from('{"update_id":7,"type":"ping","ping":{}}')
  const signed = signWebhook({ rawBody: raw, secrets: ['recorded-secret'], timestamp: 1_000, updateId: 7 })
  const arrived = { at: 1_000_000, method: 'POST', url: '/', headers: Object.entries(signed).flat() }
  const known = { verdict: 'ok', reason: null, update_id: '7', type: 'ping' } as const
  const refused = { verdict: 'refused', reason: 'bad_signature', update_id: null, type: null } as const
  await writer.recordDelivery({ ...arrived, ...known, body: raw })
  await writer.recordDelivery({ ...arrived, ...refused, body: Buffer.from(`${raw}\n`) })
  await writer.close()
  const env = { VOUCHERCTL_WEBHOOK_SECRET: 'recorded-secret' }
  return { raw, run: (args: string) => cli(`webhook ${args}`, { home, env, now: 9_000_000 }) }
}

test('webhook verify --id checks a recorded delivery at its arrival', { tags: 'synthetic-updates/3' }, async () => {
  const { run } = await inboxOfTwo()
  for (const id of ['1-1', '7']) {
    expect(await run(`verify --id ${id} --inbox inbox`)).toMatchObject({ exit: 0, stdout: '✓ Valid: update 7.\n' })
  }
  const explained = await run('verify --id 1-2 --inbox inbox --explain --json')
  expect([explained.exit, JSON.parse(explained.stdout)]).toMatchObject([
    10,
    { reason: 'bad_signature', cause: 'body_trailing_newline_added' },
  ])
  const later = await run('verify --id 1-1 --inbox inbox --timestamp 2000 --json')
  expect([later.exit, JSON.parse(later.stdout).reason]).toEqual([10, 'stale'])
})

test('webhook sign --id signs a recorded body at the present time', { tags: 'synthetic-updates/3' }, async () => {
  const { run, raw } = await inboxOfTwo()
  const { stdout } = await run('sign --id 1-1 --inbox inbox --json')
  const wanted = { rawBody: raw, secrets: ['recorded-secret'], updateId: 7, timestamp: 9_000 }
  expect(JSON.parse(stdout)).toEqual(signWebhook(wanted))
})

test.each([
  ['verify --id 9-9 --inbox inbox', 5, 'No delivery 9-9'],
  ['sign --id 9-9 --inbox inbox', 5, 'No delivery 9-9'],
  ['verify --id 1-1 --headers-file h', 2, '--headers-file and --id cannot be combined'],
  ['sign --id 1-1 --body-file -', 2, '--body-file and --id cannot be combined'],
  ['verify --body-file b --headers-file h --inbox inbox', 2, '--inbox needs --id'],
  ['verify', 3, '--body-file or --id'],
])('webhook %s exits %i with the message "%s"', async (args, exit, message) => {
  const { run } = await inboxOfTwo()
  expect(await run(args)).toMatchObject({ exit, stdout: '', stderr: expect.stringContaining(message) })
})
