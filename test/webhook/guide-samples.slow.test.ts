import { execFileSync, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { verifyWebhook } from '../../src/webhook/index.js'
import file from '../vectors/webhook-signatures.json' with { type: 'json' }

// Runs the Python and Go samples of the webhook guide, where these languages are installed.

const guide = readFileSync(fileURLToPath(new URL('../../src/guides/webhook-library.md', import.meta.url)), 'utf8')
const samplesIn = (language: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, block = '']) => block)
const [python = ''] = samplesIn('python')
const [go = ''] = samplesIn('go')

const isInstalled = (program: string, argument: string) =>
  spawnSync(program, [argument], { stdio: 'ignore' }).status === 0
const hasPython = isInstalled('python3', '--version')
const hasGo = isInstalled('go', 'version')
/** Reason that the summary of a run prints. */
const missing = (program: string) => `${program} is not installed, so its sample in the webhook guide was not run`

const folder = mkdtempSync(join(tmpdir(), 'voucherctl-samples-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
function write(files: Readonly<Record<string, string>>) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

type Header = readonly [name: string, value: string]

interface Delivery {
  readonly name: string
  readonly isValid: boolean
  readonly headers: readonly Header[]
  readonly body: Buffer
  readonly secrets: readonly string[]
  /** Clock of the receiver in Unix seconds. */
  readonly now: number
}

const secret = 'whsec_test_secret_0123456789abcdef'
const replaced = 'replaced_secret'
const seconds = 1_735_689_600
const ping = '{"update_id":1,"type":"ping"}'
const signature = 'X-Platform-Signature-V2'
const timestamp = 'X-Platform-Timestamp'
const updateId = 'X-Platform-Update-Id'

const macOf = (body: Buffer | string, key = secret, time: number | string = seconds) =>
  createHmac('sha256', key).update(`${time}.`).update(body).digest('hex')
const headersOf = (mac: string, time: number | string = seconds, id = '1'): Header[] => [
  [signature, mac],
  [timestamp, String(time)],
  [updateId, id],
]
const delivery = (name: string, isValid: boolean, changed: Partial<Delivery>): Delivery => ({
  name,
  isValid,
  headers: headersOf(macOf(ping)),
  body: Buffer.from(ping),
  secrets: [secret],
  now: seconds,
  ...changed,
})
const signed = (name: string, isValid: boolean, text: Buffer | string, id = '1') =>
  delivery(name, isValid, { headers: headersOf(macOf(text), seconds, id), body: Buffer.from(text) })

const vectors = file.vectors.map((vector) => {
  const body = Buffer.from(vector.body_hex, 'hex')
  const id = /"update_id":(\d+)/.exec(body.toString())?.[1]
  return delivery(`vector ${vector.name}`, id !== undefined, {
    headers: headersOf(vector.signature, vector.timestamp, id),
    body,
    secrets: [vector.secret_token],
    now: Number(vector.timestamp),
  })
})

const mac = macOf(ping)
const [valid, wrong] = [headersOf(mac), macOf(ping, 'another')]
const both = headersOf(`${mac},${macOf(ping, replaced)}`)

const accepted = [
  delivery('names of headers in lower case', true, {
    headers: valid.map(([name, value]) => [name.toLowerCase(), value]),
  }),
  delivery('other headers, also repeated ones', true, { headers: [['Accept', 'a'], ...valid, ['Accept', 'b']] }),
  delivery('300 s old', true, { now: seconds + 300 }),
  delivery('300 s ahead', true, { now: seconds - 300 }),
  delivery('second secret', true, { secrets: ['new', secret] }),
  delivery('two signatures, first secret', true, { headers: both }),
  delivery('two signatures, second secret', true, { headers: both, secrets: [replaced] }),
  delivery('two signatures, only the second one right', true, { headers: headersOf(`${wrong},${mac}`) }),
  signed('id beyond 53 bits', true, '{"update_id":9007199254740993}', '9007199254740993'),
  signed('id beyond 64 bits', true, `{"update_id":1${'0'.repeat(40)}}`, `1${'0'.repeat(40)}`),
  signed('id after nested ids and escapes', true, '{"a":{"update_id":3},"update\\u005fid" : 1 }'),
  signed('keys that differ in case', true, '{"update_id":1,"UPDATE_ID":2,"Update_Id":3}'),
]

const refused = [
  ...valid.flatMap(([name, value]) => [
    delivery(`no ${name}`, false, { headers: valid.filter((it) => it[0] !== name) }),
    delivery(`empty ${name}`, false, { headers: valid.map((it) => (it[0] === name ? [name, ''] : it)) }),
    delivery(`two equal values of ${name}`, false, { headers: [...valid, [name, value]] }),
    delivery(`two names of ${name}`, false, { headers: [...valid, [name.toLowerCase(), value]] }),
    ...[`${value}, ${value}`, ` ${value}`, `${value} `, `${value}\n`, `${value},`].map((text) =>
      delivery(`${name} ${JSON.stringify(text)}`, false, {
        headers: valid.map((it) => (it[0] === name ? [name, text] : it)),
      }),
    ),
  ]),
  delivery('a repeated signature of which one is wrong', false, { headers: [...valid, [signature, wrong]] }),
  delivery('a repeated id of which one is wrong', false, { headers: [...valid, [updateId, '2']] }),
  ...[
    ' 1735689600',
    '+1735689600',
    '-1',
    '1735689600.0',
    '1_735_689_600',
    '1.7356896e9',
    '0x67748580',
    '١٧٣٥٦٨٩٦٠٠',
  ].map((time) => delivery(`signed timestamp ${time}`, false, { headers: headersOf(macOf(ping, secret, time), time) })),
  ...['1735689600000', '9'.repeat(19), '9'.repeat(20), '9'.repeat(5_000), '18446744075445241216'].map((time) =>
    delivery(`huge timestamp ${time.slice(0, 24)}`, false, { headers: headersOf(macOf(ping, secret, time), time) }),
  ),
  delivery('301 s old', false, { now: seconds + 301 }),
  delivery('301 s ahead', false, { now: seconds - 301 }),
  delivery('another timestamp than the signed one', false, { headers: headersOf(mac, seconds + 1) }),
  ...[mac.slice(1), `${mac}0`, mac.toUpperCase(), `sha256=${mac}`, `${mac},${mac},${mac}`, `${mac},`, `,${mac}`].map(
    (text) => delivery(`signature ${text}`, false, { headers: headersOf(text) }),
  ),
  ...['z'.repeat(64), `${mac.slice(1)}g`, 'ä'.repeat(64), Buffer.from(mac, 'hex').toString('base64'), `${mac},x`].map(
    (text) => delivery(`signature ${text}`, false, { headers: headersOf(text) }),
  ),
  delivery('another secret', false, { secrets: ['another'] }),
  delivery('a changed body', false, { body: Buffer.from(`${ping}\n`) }),
  delivery('no secret', false, { secrets: [] }),
  delivery('an empty secret that signed', false, { headers: headersOf(macOf(ping, '')), secrets: [''] }),
  delivery('an empty secret beside another one', false, { headers: headersOf(macOf(ping, '')), secrets: [secret, ''] }),
  ...['2', '01', '1.0', '-1', '+1', 'abc', '9007199254740993', '9'.repeat(5_000)].map((id) =>
    delivery(`id ${id.slice(0, 24)} for the body's id 1`, false, { headers: headersOf(mac, seconds, id) }),
  ),
  signed('an id that rounds to the id in the body', false, '{"update_id":9007199254740993}', '9007199254740992'),
  signed('a body that is Latin-1', false, Buffer.from('{"update_id":1,"t":"\xe9"}', 'latin1')),
  signed('a body in UTF-16', false, Buffer.from(ping, 'utf16le')),
  ...['', '{', 'null', '1', '[{"update_id":1}]', '{}', '{"update":{"update_id":1}}', '{"Update_Id":1}', `${ping}x`].map(
    (text) => signed(`body ${text}`, false, text),
  ),
  ...['"1"', '1.5', '-1', 'null', 'true', '[1]', '1e300'].flatMap((value) =>
    ['1', value, value.replaceAll('"', '')].map((id) =>
      signed(`body with the id ${value} and header ${id}`, false, `{"update_id":${value}}`, id),
    ),
  ),
  signed('a body and a header without an id', false, '{"type":"ping"}', ''),
]

const deliveries = [...vectors, ...accepted, ...refused]
const expected = deliveries.map(({ name, isValid }) => [name, isValid])

/** Runs a program that reads the deliveries from stdin and prints a list of verdicts. */
function verdictsOf(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const input = JSON.stringify(deliveries.map((it) => ({ ...it, body: it.body.toString('base64') })))
  const options = { cwd: folder, input, encoding: 'utf8', env: { ...process.env, ...env } } as const
  const verdicts = JSON.parse(execFileSync(program, args, options)) as boolean[]
  return verdicts.map((isValid, index) => [deliveries[index]?.name, isValid])
}

const runPython = `import base64, json, sys
from verify import verify

def is_valid(it):
    body = base64.b64decode(it["body"])
    try:
        update = verify(it["headers"], body, [secret.encode() for secret in it["secrets"]], lambda: it["now"] + 0.9)
    except ValueError:
        return False
    return update == json.loads(body.decode("utf-8-sig"))

print(json.dumps([is_valid(it) for it in json.load(sys.stdin)]))
`

const runGo = `package main

import (
	"encoding/json"
	"net/http"
	"os"
	"sample/webhook"
)

func main() {
	var deliveries []struct {
		Headers [][]string
		Body    []byte
		Secrets []string
		Now     int64
	}
	if err := json.NewDecoder(os.Stdin).Decode(&deliveries); err != nil {
		panic(err)
	}
	verdicts := []bool{}
	for _, it := range deliveries {
		header := http.Header{}
		for _, pair := range it.Headers {
			header.Add(pair[0], pair[1])
		}
		verdicts = append(verdicts, webhook.Verify(header, string(it.Body), it.Secrets, it.Now))
	}
	json.NewEncoder(os.Stdout).Encode(verdicts)
}
`

describe('samples of the webhook guide in other languages', () => {
  test('the webhook guide has one sample of at most 30 lines for each of Python and Go', () => {
    for (const language of ['python', 'go']) {
      expect(samplesIn(language).map((it) => it.trimEnd().split('\n').length <= 30)).toEqual([true])
    }
    expect([python.includes('hmac.compare_digest('), go.includes('hmac.Equal(')]).toEqual([true, true])
  })

  test('verifyWebhook accepts and refuses the deliveries with which the samples are tested', () => {
    const verdictOf = ({ headers, body, secrets, now }: Delivery) => {
      try {
        return verifyWebhook({ headers, rawBody: body, secrets, now: now * 1000 + 900 }).ok
      } catch {
        return false
      }
    }
    expect(deliveries.map((it) => [it.name, verdictOf(it)])).toEqual(expected)
  })

  test('Python sample of the guide agrees with verifyWebhook', ({ skip }) => {
    skip(!hasPython, missing('python3'))
    write({ 'verify.py': python, 'run.py': runPython })
    expect(verdictsOf('python3', ['run.py'])).toEqual(expected)
  })

  test('Go sample of the guide agrees with verifyWebhook', ({ skip }) => {
    skip(!hasGo, missing('go'))
    write({ 'go.mod': 'module sample\n\ngo 1.18\n', 'webhook/verify.go': go, 'main.go': runGo })
    const env = { GOCACHE: join(folder, 'cache'), GOPATH: join(folder, 'go'), GOPROXY: 'off', GOTOOLCHAIN: 'local' }
    expect(verdictsOf('go', ['run', '.'], env)).toEqual(expected)
  })
})
