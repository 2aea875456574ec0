import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { curlOf } from '../../src/conform/curl.js'
import { Secrets } from '../../src/conform/secrets.js'
import type { WireExchange } from '../../src/conform/wire.js'
import { contract } from '../../src/contract/index.js'
import { useReference } from '../support/conform/conform.js'
import { responds } from '../support/conform/deviants.js'
import { recordingProxy } from '../support/conform/recording-proxy.js'

const reference = useReference()

/** The arguments that bash passes to curl for a command. */
function argumentsOf(command: string, variables: Readonly<Record<string, string>>): readonly string[] {
  const env = { PATH: process.env.PATH, HOME: '/home', ...variables }
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}`
  return execFileSync('bash', ['-c', script], { env, encoding: 'utf8' }).split('\0').slice(0, -1)
}

test('secrets replaces each secret by a name, even one that contains another secret', () => {
  const secrets = new Secrets()
  secrets.add('SHORT', 'sop_short')
  secrets.add('LONG', 'sop_short_and_long')
  expect(secrets.hide('sop_short_and_long sop_short')).toBe('${LONG} ${SHORT}')
})

test('secrets numbers the names of further secrets of a kind', () => {
  const secrets = new Secrets()
  secrets.addFrom({ credentials: [{ type: 'redeem_code', value: 'AAAA-AAAA' }] })
  secrets.addFrom([{ type: 'redeem_code', value: 'BBBB-BBBB' }, { one_time_token: 'sbot_token' }])
  expect(secrets.hide('AAAA-AAAA BBBB-BBBB sbot_token')).toBe('${CODE} ${CODE_2} ${BOT_TOKEN}')
})

test("secrets names the records to which secrets belong, except the user's records", () => {
  const secrets = new Secrets()
  secrets.add('VOUCHERCTL_TOKEN', 'sop_the-token')
  secrets.addFrom({ data: { id: 'vch_1', credentials: [{ type: 'redeem_code', value: 'AAAA-AAAA' }] } })
  secrets.addFrom({ data: { bot_id: 'bot_1', one_time_token: 'sbot_token' } })
  const text = secrets.hide('sop_the-token AAAA-AAAA sbot_token')
  expect(secrets.ownersIn(text)).toEqual({ CODE: 'vch_1', BOT_TOKEN: 'bot_1' })
})

test('curl command sends the request unchanged after bash expands the secret variables', () => {
  const secrets = new Secrets()
  secrets.add('VOUCHERCTL_TOKEN', 'sop_the-token')
  secrets.add('CODE', 'AAAA-AAAA')
  const body = `{"value":"AAAA-AAAA","text":"it's \${HOME} $HOME \`x\` \\\\ é"}`
  const headers = { authorization: 'Bearer sop_the-token', 'x-list': ['1', '2'] }
  const command = curlOf(
    'http://127.0.0.1:8420/prefix',
    { method: 'POST', path: '/a/../b?c=[1]', headers, body },
    secrets,
  )
  expect(command).not.toMatch(/the-token|AAAA/)
  expect(argumentsOf(command, { VOUCHERCTL_TOKEN: 'sop_the-token', CODE: 'AAAA-AAAA' })).toEqual([
    ...['-sSgi', '-X', 'POST', '--path-as-is', 'http://127.0.0.1:8420/prefix/a/../b?c=[1]'],
    ...['-H', 'authorization: Bearer sop_the-token', '-H', 'x-list: 1', '-H', 'x-list: 2'],
    ...['--data-raw', body],
  ])
})

test('curl command hides a code that a probe has changed, and escapes invisible characters', () => {
  const secrets = new Secrets()
  secrets.add('CODE', 'ABCD-EFGH-JKMN-PQRS')
  const body = '{"value":"abcdefghjkmnpqrs","name":"e\u0301\u202e"}'
  const command = curlOf('http://127.0.0.1:8420', { method: 'POST', path: '/', headers: {}, body }, secrets)
  const [data] = argumentsOf(command, { CHANGED_SECRET: 'abcdefghjkmnpqrs' }).slice(-1)
  expect(command).not.toMatch(/efghjkmn|[\u0301\u202e]/)
  expect(JSON.parse(data ?? '')).toEqual(JSON.parse(body))
})

test('secrets finds tokens and codes in members with names of other platforms', () => {
  const secrets = new Secrets()
  secrets.addFrom({
    redeemCode: 'AAAA-AAAA',
    qrToken: 'BBBB-BBBB',
    access_token: 'CCCC-CCCC',
    code: 'NOT_FOUND_AT_ALL',
  })
  expect(secrets.hide('AAAA-AAAA BBBB-BBBB CCCC-CCCC NOT_FOUND_AT_ALL')).toBe(
    '${SECRET} ${SECRET_2} ${SECRET_3} NOT_FOUND_AT_ALL',
  )
})

/** Secrets in the exchanges of a run, collected without the code under test. */
function secretsOf(exchanges: readonly WireExchange[]): ReadonlySet<string> {
  const text = JSON.stringify(exchanges)
  const tokens = text.match(/sop_[A-Za-z0-9]{36}|sbot_[A-Za-z0-9]{36}|VQ1-[0-9A-Z]+|eyJ[\w-]+\.[\w-]+\.[\w-]+/g) ?? []
  const codes = text.match(/\b(?:[0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}\b/g) ?? []
  return new Set([...tokens, ...codes])
}

test('results of a run contain no secret, and the curl command of each difference works', async () => {
  const exchanges: WireExchange[] = []
  // Every call with JSON then differs from a rule, and its response repeats what it received.
  const deviate = responds(
    ({ path }) => path === contract.vouchers.verify.path,
    (_response, { body, headers }) => ({ status: 299, body: JSON.stringify({ body, headers }) }),
  )
  const { results, left } = await reference.run({
    only: ['bodies', 'unknown-members'],
    deviate,
    onExchange: (it) => exchanges.push(it),
  })
  const differing = results.filter(({ result }) => result === 'differs')
  expect(differing.length).toBeGreaterThan(5)

  const secrets = secretsOf(exchanges)
  expect(secrets.size).toBeGreaterThan(2)
  const texts = JSON.stringify([results, left])
  expect([...secrets].filter((secret) => texts.includes(secret))).toEqual([])

  const [{ request = '', probe } = {}] = differing.filter((it) => it.probe === 'unknown-members/body')
  // After a difference, conform repeats a read to see whether the platform still serves.
  const sent = exchanges.findLast((it) => it.probe === probe && it.request.method === 'POST')?.request
  const code = /"value":"([^"]+)"/.exec(sent?.body ?? '')?.[1] ?? ''
  const token = /Bearer (.*)/.exec(String(sent?.headers.authorization))?.[1] ?? ''
  const names = [...(request ?? '').matchAll(/\$\{([A-Z_0-9]+)\}/g)].map(([, name = '']) => name)
  const variables = Object.fromEntries(names.map((name) => [name, name.startsWith('VOUCHERCTL') ? token : code]))
  const words = argumentsOf(request ?? '', variables)
  expect(words).toContain(`authorization: Bearer ${token}`)
  expect(words.slice(-2)).toEqual(['--data-raw', sent?.body])
})

test('run with readOnly sends only reads and verifications', async () => {
  const proxy = await recordingProxy(reference.baseUrl)
  const { results, left } = await reference.run({ readOnly: true, baseUrl: proxy.baseUrl })
  expect(results.filter(({ result }) => result === 'holds').length).toBeGreaterThan(20)
  expect(left).toEqual([])
  const others = proxy.requests.filter((it) => !it.startsWith('GET ') && it !== `POST ${contract.vouchers.verify.path}`)
  expect(others).toEqual([])
})
