import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import * as yaml from 'yaml'
import { parseScenario } from '../../../../src/cli/scenario/parse.js'
import { CAPTURED_BYTES_MAX } from '../../../../src/contract/platform/captured.js'
import { commandOf, curlOf, isWhole, requestOf, stepOf } from '../../../../src/inspector/page/model/copy-as.js'
import { referenceOf } from '../../../support/page/reference.js'
import { base64, exchangeOf, requestLine } from './activity-samples.js'

const BASE_URL = 'http://127.0.0.1:8420'

/** The arguments that a shell passes to curl for a copied command, and the body on its input. */
function runCurl(command: string): { words: string[]; input: string } {
  const script = `curl() { printf '%s\\0' "$@"; printf '\\0'; case "$*" in *@-) cat;; esac; }\n${command}`
  const env = { PATH: process.env.PATH, VOUCHERCTL_TOKEN: 'the-token', SECRET: 'the-secret' }
  const [words = '', input = ''] = execFileSync('sh', ['-c', script], { env, encoding: 'latin1' }).split('\0\0')
  return { words: words.split('\0'), input }
}

const redeem = '/api/v1/open-platform/vouchers/redeem'
const body = `{"credential":{"type":"redeem_code","value":"[hidden]"},"reference":"it's $HOME \`x\` \${a} \\\\ é"}`
const { request: sent } = exchangeOf(body, {
  url: redeem,
  headers: [
    ['Host', '127.0.0.1:8420'],
    ['Content-Length', '99'],
    ['Authorization', '[hidden]'],
    ['Idempotency-Key', 'sale-$1'],
  ],
})
const { request: call } = requestLine({ status: 409, code: 'VOUCHER_EXPIRED' })
const endpoint = referenceOf('vouchers.redeem')

test('curl command sends URL, headers and body unchanged, with the credential of the environment', () => {
  const { words } = runCurl(curlOf(sent, BASE_URL, endpoint))
  expect(words.map((it) => Buffer.from(it, 'latin1').toString())).toEqual([
    '-sSgi',
    '-X',
    'POST',
    '--path-as-is',
    BASE_URL + redeem,
    '-H',
    'Authorization: Bearer the-token',
    '-H',
    'Idempotency-Key: sale-$1',
    '--data-raw',
    body.replace('[hidden]', 'the-secret'),
  ])
})

test('voucherctl command sends the body unchanged, with the idempotency key', () => {
  const script = `voucherctl() { printf '%s\\0' "$@"; cat; }\n${commandOf(sent)}`
  const env = { PATH: process.env.PATH, SECRET: 'the-secret' }
  expect(execFileSync('sh', ['-c', script], { env, encoding: 'utf8' }).split('\0')).toEqual([
    'api',
    'POST',
    redeem,
    '--idempotency-key',
    'sale-$1',
    '--input',
    '-',
    body.replace('[hidden]', 'the-secret'),
  ])
})

test('voucherctl command is absent for a body that no argument can hold', () => {
  expect(commandOf({ ...sent, body: Buffer.from('\xff', 'latin1').toString('base64') })).toBeNull()
})

test('call that was not made yet is copied like one of the log', () => {
  const planned = requestOf('POST', redeem, { reference: 'é', text: 'M9S3-46Q3-D25V-T4FJ' }, 'sale-1')
  expect(isWhole(planned)).toBe(true)
  expect(commandOf(planned)).toContain(`printf %s '{"reference":"é","text":"'"\${SECRET}"'"}'`)
  const { words } = runCurl(curlOf(planned, BASE_URL, endpoint))
  expect(words).toContain('Authorization: Bearer the-token')
  expect(words).toContain('Content-Type: application/json')
  expect(commandOf(requestOf('GET', '/api/v1/open-platform/vouchers'))).toBe(
    'voucherctl api GET /api/v1/open-platform/vouchers',
  )
})

test('curl command sends a binary body byte for byte', () => {
  const bytes = '\x01\xff\xfe\n\x7f'
  const binary = { ...sent, body: Buffer.from(bytes, 'latin1').toString('base64') }
  const { words, input } = runCurl(curlOf(binary, BASE_URL, endpoint))
  expect([words.slice(-2), input]).toEqual([['--data-binary', '@-'], bytes])
})

test.each([
  ['//host.example/_platform/v1/reset', '//host.example/_platform/v1/reset'],
  ['http://host.example/_platform/v1/reset', '/_platform/v1/reset'],
  ['[hidden]//host.example/_platform/v1/reset', '/_platform/v1/reset'],
  ['http://host.example', '/'],
  ['http://host.example?a=1', '/?a=1'],
  ['@host.example/', '/@host.example/'],
  ['//[', '//['],
  ['/x/../_platform/v1/reset', '/x/../_platform/v1/reset'],
  ['/hook?a=[hidden]', '/hook?a=the-secret'],
])('curl command of the recorded target %s goes to this server', (url, path) => {
  const headers: [string, string][] = [['Authorization', '[hidden]']]
  const command = curlOf({ method: 'POST', url, headers, body: null, body_bytes: 0 }, BASE_URL, undefined)
  expect(runCurl(command).words.slice(0, 5)).toEqual(['-sSgi', '-X', 'POST', '--path-as-is', BASE_URL + path])
  expect(command).toContain('"Authorization: Bearer ${VOUCHERCTL_TOKEN}"')
})

test('scenario step of a recorded target with another host uses only the path', () => {
  const { request } = exchangeOf('', { url: '//[/templates?limit=5', body: null })
  expect(stepOf(call, request, referenceOf('templates.list'))).toContain('"limit": 5')
})

test.each([
  ['vouchers.redeem', 'VOUCHERCTL_TOKEN'],
  ['bots.send', 'VOUCHERCTL_BOT_TOKEN'],
  ['bots.list', 'VOUCHERCTL_JWT'],
  ['platform.reset', 'VOUCHERCTL_OPERATOR_KEY'],
] as const)('curl command for %s names the variable %s', (id, variable) => {
  expect(curlOf(sent, BASE_URL, referenceOf(id))).toContain(`"Authorization: Bearer \${${variable}}"`)
})

const stepsOf = (text: string) => {
  const steps = text.replaceAll('\n', '\n  ').trimEnd()
  const parsed = parseScenario(`steps:\n  ${steps}\n`, 'copied.yaml', [], yaml)
  return parsed.ok ? parsed.scenario.steps : parsed.problems
}

test('scenario step has endpoint, input without secrets, key and result of the call', () => {
  const reference = `it's $HOME \`x\` $\${a} \\ é`
  expect(stepsOf(stepOf(call, sent, endpoint) ?? '')).toMatchObject([
    {
      kind: 'call',
      target: { id: 'vouchers.redeem' },
      with: { credential: { type: 'redeem_code', value: '${env.SECRET}' }, reference },
      idempotencyKey: 'sale-$1',
      expect: { status: 409, code: 'VOUCHER_EXPIRED' },
    },
  ])
})

test('scenario step takes its input from path and query, with the numbers of the contract', () => {
  const [path, url] = ['/api/v1/bots/my/:botId/webhook/deliveries', '/api/v1/bots/my/bot%201/webhook/deliveries']
  const { request: listed } = requestLine({ endpoint: 'webhook.deliveries', method: 'GET', path })
  const { request } = exchangeOf('', { url: `${url}?limit=5&status=dead`, body: null })
  expect(stepsOf(stepOf(listed, request, referenceOf('webhook.deliveries')) ?? '')).toMatchObject([
    { with: { botId: 'bot 1', limit: 5, status: 'dead' }, expect: { status: 200 } },
  ])
})

test.each([
  ['a call of no route', { endpoint: null, path: null }, '{}'],
  ['a body that is not JSON', {}, '{'],
  ['a body that is no object', {}, '[]'],
])('no scenario step exists for %s', (_what, more, text) => {
  const { request } = requestLine(more)
  const { request: other } = exchangeOf(text)
  expect(stepOf(request, other, endpoint)).toBeNull()
})

test('request is whole unless its body was cut or not captured', () => {
  const whole = [
    exchangeOf('{}'),
    exchangeOf('', { body: null }),
    exchangeOf('{}', { body: null, body_bytes: 2 }),
    exchangeOf('{}', { body: base64('{}'), body_bytes: CAPTURED_BYTES_MAX + 1 }),
  ]
  expect(whole.map(({ request }) => isWhole(request))).toEqual([true, true, false, false])
})
