import { createHmac } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  explainMismatch,
  signWebhook,
  type VerifyWebhookInput,
  verifyWebhook,
  type WebhookHeaders,
} from '../../src/webhook/index.js'
import { signatureOf } from '../../src/webhook/signature.js'
import file from '../vectors/webhook-signatures.json' with { type: 'json' }

fc.configureGlobal({ seed: 1 })

const vectors = file.vectors.map((it) => ({ ...it, body: Buffer.from(it.body_hex, 'hex') }))
const secret = 'whsec_test_secret_0123456789abcdef'
const other = 'another_secret'
const seconds = 1_735_689_600
const rawBody = Buffer.from('{"update_id":1,"type":"ping"}')
const ping = { update_id: 1, type: 'ping' }
const signed = (body: Uint8Array | string = rawBody, secrets = [secret], updateId: number | string = 1) =>
  signWebhook({ rawBody: body, secrets, timestamp: seconds, updateId })
const verify = (input: Partial<VerifyWebhookInput> = {}) =>
  verifyWebhook({ headers: signed(), rawBody, secrets: [secret], now: seconds * 1000, ...input })
const changed = (values: Record<string, string | string[]>) => ({ headers: { ...signed(), ...values } })
const refusal = (reason: string) => ({ ok: false, reason, message: expect.stringMatching(/\.$/) })

const signature = 'X-Platform-Signature-V2'
const timestamp = 'X-Platform-Timestamp'
const updateId = 'X-Platform-Update-Id'

describe('signWebhook and the vectors', () => {
  it.each(vectors)(
    'signWebhook produces the signature of the vector "$name"',
    { tags: ['signatures/1', 'signatures/2'] },
    ({ secret_token, timestamp: time, body, ...vector }) => {
      const headers = signWebhook({ rawBody: body, secrets: [secret_token], timestamp: time, updateId: 7 })
      expect(headers).toEqual({ [signature]: vector.signature, [timestamp]: time, [updateId]: '7' })
      expect(signatureOf(body, secret_token, time)).toBe(vector.signature)
    },
  )

  it.each(vectors)('verifyWebhook verifies "$name" before it parses the body', { tags: 'signatures/1' }, (vector) => {
    const id = /"update_id":(\d+)/.exec(vector.body.toString())?.[1] ?? '1'
    const verdict = verifyWebhook({
      headers: { [signature]: vector.signature, [timestamp]: vector.timestamp, [updateId]: id },
      rawBody: vector.body,
      secrets: [vector.secret_token],
      now: () => Number(vector.timestamp) * 1000,
    })
    const isUpdate = vector.body_text?.includes('update_id') === true
    expect(verdict).toMatchObject(
      isUpdate
        ? { ok: true, updateId: id, timestamp: Number(vector.timestamp), secretIndex: 0 }
        : { ok: false, reason: 'body_not_json' },
    )
  })

  it('signWebhook signs with two secrets, and verifyWebhook accepts either secret', { tags: 'signatures/2' }, () => {
    const headers = signed(rawBody, ['new', 'old'])
    expect(headers[signature]).toBe(`${signed(rawBody, ['new'])[signature]},${signed(rawBody, ['old'])[signature]}`)
    expect(verify({ headers, secrets: ['new'] })).toMatchObject({ ok: true, secretIndex: 0 })
    expect(verify({ headers, secrets: ['old'] })).toMatchObject({ ok: true, secretIndex: 0 })
    expect(verify({ headers, secrets: ['old', 'new'] })).toMatchObject({ ok: true, secretIndex: 0 })
    expect(verify({ headers, secrets: ['older', 'old'] })).toMatchObject({ ok: true, secretIndex: 1 })
    expect(verify({ headers, secrets: ['older'] })).toEqual(refusal('bad_signature'))
  })

  it('signWebhook throws for a third secret and for a malformed timestamp or update id', () => {
    const sign = (changed: object) => () =>
      signWebhook({ rawBody, secrets: [secret], timestamp: seconds, updateId: 1, ...changed })
    const range = (name: string) => new RangeError(`${name} must be a whole number from 0, exact or as digits`)
    for (const value of [1.5, -1, Number.NaN, 2 ** 53, '', ' 1', '1\n', '1e3', '0x1', -1n]) {
      expect(sign({ timestamp: value })).toThrow(range('timestamp'))
      expect(sign({ updateId: value })).toThrow(range('updateId'))
      expect(() => signatureOf(rawBody, secret, value as number)).toThrow(range('timestamp'))
    }
    expect(sign({ updateId: 2n ** 64n })()[updateId]).toBe('18446744073709551616')
    const three = new RangeError('secrets must be one, or two while one replaces the other')
    expect(sign({ secrets: ['a', 'b', 'c'] })).toThrow(three)
    expect(sign({ secrets: [] })).toThrow(TypeError)
    expect(sign({ rawBody: ping })).toThrow(TypeError)
  })
})

describe('altered deliveries', () => {
  const body = fc
    .uint8Array({ maxLength: 200 })
    .map((payload) =>
      Buffer.from(JSON.stringify({ update_id: 5, message: { text: Buffer.from(payload).toString('latin1') } })),
    )
  const key = fc.string({ unit: fc.constantFrom(...'azAZ09_-'), minLength: 1, maxLength: 256 })

  it('verifyWebhook accepts any signed body, with the right secret at any position of the list', () => {
    fc.assert(
      fc.property(body, key, fc.nat(4), (bytes, token, place) => {
        const secrets = ['!1', '!2', '!3', '!4']
        secrets.splice(place, 0, token)
        const verdict = verify({ headers: signed(bytes, [token], 5), rawBody: bytes, secrets })
        expect(verdict).toEqual({
          ok: true,
          updateId: '5',
          timestamp: seconds,
          body: JSON.parse(bytes.toString()),
          secretIndex: place,
        })
      }),
    )
  })

  it('verifyWebhook refuses a body with any flipped bit', { tags: 'signatures/1' }, () => {
    fc.assert(
      fc.property(body, fc.nat(), fc.nat(7), (bytes, at, bit) => {
        const altered = Buffer.from(bytes)
        altered.writeUInt8(altered.readUInt8(at % bytes.length) ^ (1 << bit), at % bytes.length)
        expect(verify({ headers: signed(bytes, [secret], 5), rawBody: altered })).toEqual(refusal('bad_signature'))
      }),
    )
  })

  it.each([0, 1])(
    'verifyWebhook refuses a delivery if its matching signature (number %i of two) is changed',
    { tags: 'signatures/1' },
    (which) => {
      const parts = signed(rawBody, [secret, other])[signature].split(',') as [string, string]
      const secrets = [[secret, other][which] as string]
      for (let at = 0; at < 64; at++) {
        for (const digit of '0123456789abcdefAG ,') {
          if (digit === parts[which]?.[at]) continue
          const altered = [...parts]
          altered[which] = `${parts[which]?.slice(0, at)}${digit}${parts[which]?.slice(at + 1)}`
          expect(verify({ ...changed({ [signature]: altered.join(',') }), secrets }).ok).toBe(false)
        }
      }
    },
  )

  it('verifyWebhook refuses a timestamp with any changed digit', () => {
    for (let at = 0; at < 10; at++) {
      for (const digit of '0123456789') {
        const altered = `${String(seconds).slice(0, at)}${digit}${String(seconds).slice(at + 1)}`
        if (altered === String(seconds)) continue
        const verdict = verify({ ...changed({ [timestamp]: altered }), toleranceSeconds: 1e11 })
        expect(verdict).toEqual(refusal('bad_signature'))
      }
    }
  })

  it('verifyWebhook refuses a timestamp with a leading zero that was not signed', () => {
    expect(verify(changed({ [timestamp]: `0${seconds}` }))).toEqual(refusal('bad_signature'))
  })

  it('verifyWebhook refuses a delivery signed with any other secret', () => {
    fc.assert(
      fc.property(key, (token) => {
        expect(verify({ secrets: [`${token}!`] })).toEqual(refusal('bad_signature'))
      }),
    )
  })
})

describe('timestamps', () => {
  it.each([
    [-301, undefined, 'future'],
    [-300, undefined, undefined],
    [0, undefined, undefined],
    [300, undefined, undefined],
    [300.999, undefined, undefined],
    [301, undefined, 'stale'],
    [0, 0, undefined],
    [1, 0, 'stale'],
    [-0.001, 0, 'future'],
    [86_400, 86_400, undefined],
  ])('verifyWebhook of %d s with tolerance %s gives %s', { tags: 'signatures/1' }, (ago, toleranceSeconds, reason) => {
    const now = (seconds + ago) * 1000
    const verdict = verify({ now, ...(toleranceSeconds === undefined ? {} : { toleranceSeconds }) })
    expect(verdict.ok ? undefined : verdict.reason).toBe(reason)
  })

  it('verifyWebhook uses the system clock if `now` is not given', () => {
    const fresh = signWebhook({ rawBody, secrets: [secret], timestamp: Math.floor(Date.now() / 1000), updateId: 1 })
    expect(verifyWebhook({ headers: fresh, rawBody, secrets: [secret] }).ok).toBe(true)
    expect(verifyWebhook({ headers: signed(), rawBody, secrets: [secret] })).toEqual(refusal('stale'))
  })

  it.each([
    '',
    ' ',
    '-1',
    '+1735689600',
    '1735689600.0',
    '1.7e9',
    '0x67748580',
    '١٧٣٥٦٨٩٦٠٠',
    '1735689600\n',
    'Infinity',
  ])('verifyWebhook refuses the timestamp %j as malformed', { tags: 'signatures/3' }, (value) => {
    expect(verify({ ...changed({ [timestamp]: value }), toleranceSeconds: 1e12 })).toEqual(
      refusal('malformed_timestamp'),
    )
  })

  it('verifyWebhook names the age of a refused timestamp and the tolerance', () => {
    const messageAt = (age: number) => {
      const verdict = verify({ now: (seconds + age) * 1000 })
      return verdict.ok ? undefined : verdict.message
    }
    expect(messageAt(301)).toBe('The timestamp is 301 s old; at most 300 s are allowed.')
    expect(messageAt(-301)).toBe('The timestamp is 301 s ahead; at most 300 s are allowed.')
  })

  it('verifyWebhook refuses a timestamp of 400 digits as future', () => {
    expect(verify(changed({ [timestamp]: '9'.repeat(400) }))).toEqual(refusal('future'))
  })
})

describe('header containers', () => {
  const names = [signature, timestamp, updateId]

  it.each<[string, WebhookHeaders]>([
    ['an object', signed()],
    ['an object in lower case, as node has it', Object.fromEntries(Object.entries(signed()).map(lower))],
    [
      'an object in upper case',
      Object.fromEntries(Object.entries(signed()).map(([name, it]) => [name.toUpperCase(), it])),
    ],
    [
      'lists of one value, as headersDistinct',
      Object.fromEntries(Object.entries(signed()).map(([name, it]) => [name, [it]])),
    ],
    ['a Fetch Headers', new Headers(signed())],
    ['a Map', new Map(Object.entries(signed()))],
    ['pairs', Object.entries(signed())],
  ])('verifyWebhook accepts headers in %s', (_, headers) => {
    expect(verify({ headers })).toMatchObject({ ok: true, body: ping })
  })

  it.each(names)('verifyWebhook refuses a delivery without %s and names this header', (name) => {
    const present = Object.entries(signed()).filter(([it]) => it !== name)
    expect(verify({ headers: present })).toEqual({ ...refusal('missing_header'), message: `${name} is missing.` })
    expect(verify({ headers: { ...signed(), [name]: undefined } })).toEqual(refusal('missing_header'))
    expect(verify({ headers: { ...signed(), [name]: [] } })).toEqual(refusal('missing_header'))
  })

  it.each(names)('verifyWebhook refuses a repeated %s in every header container', { tags: 'signatures/3' }, (name) => {
    const value = signed()[name as typeof signature]
    const joined = new Headers(signed())
    joined.append(name, value)
    const repeated: WebhookHeaders[] = [
      { ...signed(), [name]: [value, value] },
      { ...signed(), [name]: `${value}, ${value}` },
      { ...signed(), [name.toLowerCase()]: value },
      [...Object.entries(signed()), [name, '1']],
      joined,
    ]
    for (const headers of repeated) expect(verify({ headers })).toEqual(refusal('repeated_header'))
  })

  it.each([timestamp, updateId])('verifyWebhook refuses two values of %s that are joined without a space', (name) => {
    expect(verify(changed({ [name]: '1,1' }))).toEqual(refusal('repeated_header'))
  })

  it.each([seconds, null, [undefined]])('verifyWebhook ignores the header value %j, which is not text', (value) => {
    expect(verify({ headers: { ...signed(), [timestamp]: value as unknown as string } })).toEqual(
      refusal('missing_header'),
    )
  })

  it.each([undefined, null, 'x-platform-timestamp: 1'])(
    'verifyWebhook throws TypeError for the headers %j',
    (headers) => {
      const given = typeof headers === 'string' ? 'a string' : String(headers)
      const error = new TypeError(`${needsHeaders}${given}`)
      expect(() => verify({ headers: headers as unknown as WebhookHeaders })).toThrow(error)
    },
  )

  const needsHeaders =
    'headers must be the headers themselves, such as request.headers, event.headers or await headers(), not '
  const edgeHeaders = Object.fromEntries(Object.entries(signed()).map(([key, value]) => [key, [{ key, value }]]))
  class Incoming {
    readonly #headers = signed()
    get headers() {
      return this.#headers
    }
  }
  it.each<[string, unknown, string]>([
    ['a promise', Promise.resolve(signed()), 'a Promise: await it first'],
    ['a promise of another realm', runInNewContext('Promise.resolve({})'), 'a Promise: await it first'],
    ['a Fetch request', new Request('http://a/', { headers: signed() }), 'an object of the class Request'],
    ['a request of a class', new Incoming(), 'an object of the class Incoming'],
    ['the event of a function host', { headers: signed(), body: '' }, 'an object that has headers'],
    ['an event without headers', { headers: null, requestContext: {} }, 'an object that has headers'],
    ['the event of a request without headers', { headers: null, body: '' }, 'an object that has headers'],
    ['an event that holds a request', { request: new Request('http://a/'), env: {} }, 'a plain object'],
    ['headers of an edge function', { host: [{ key: 'Host', value: 'a' }] }, 'a plain object'],
    ['signed headers of an edge function', edgeHeaders, 'a plain object'],
    ['an object with a function get', { get: () => '1' }, 'a plain object'],
    ['a function', () => signed(), 'a function'],
    ['a URL', new URL('http://a/'), 'an object of the class URL'],
  ])('verifyWebhook and explainMismatch throw TypeError for %s as headers', (_, headers, given) => {
    const error = new TypeError(needsHeaders + given)
    const input = { headers: headers as WebhookHeaders, rawBody, secrets: [secret] }
    expect(() => verifyWebhook(input)).toThrow(error)
    expect(() => explainMismatch(input)).toThrow(error)
  })

  it.each<[string, WebhookHeaders]>([
    ['an object of another realm', runInNewContext('({})')],
    ['an object without prototype', Object.create(null)],
    ['headers that are named like members of requests', { headers: 'a', then: 'b', get: ['c'], constructor: 'd' }],
  ])('verifyWebhook refuses %s as missing_header', (_, headers) => {
    expect(verify({ headers })).toEqual(refusal('missing_header'))
  })

  it('verifyWebhook accepts signed headers beside members that are not headers', () => {
    const headers = { ...signed(), cookies: { a: 1 }, get: () => '' } as unknown as WebhookHeaders
    expect(verify({ headers })).toMatchObject({ ok: true })
  })

  it('verifyWebhook throws TypeError for a list of headers that is not made of pairs', () => {
    const message = 'headers must be names with values: a list like rawHeaders has to be made into pairs'
    for (const headers of [['X-Platform-Timestamp', '1'], new Set(['a']), [[1, 'a']]]) {
      expect(() => verify({ headers: headers as unknown as WebhookHeaders })).toThrow(new TypeError(message))
    }
  })
})

function lower([name, value]: [string, string]): [string, string] {
  return [name.toLowerCase(), value]
}

describe('signature format', () => {
  const hex = signed()[signature]
  it.each([
    ['', 'empty'],
    [hex.toUpperCase(), 'in upper case'],
    [hex.slice(1), 'too short'],
    [`${hex}0`, 'too long'],
    [`sha256=${hex}`, 'with a prefix'],
    [Buffer.from(hex, 'hex').toString('base64'), 'in base64'],
    [`${hex},`, 'with a comma at the end'],
    [`${hex},${hex},${hex}`, 'of three parts'],
    [`${hex}\n`, 'with a line end'],
    [` ${hex}`, 'with a space'],
  ])('verifyWebhook refuses the signature %j (%s) as malformed', (value) => {
    expect(verify(changed({ [signature]: value }))).toEqual(refusal('malformed_signature'))
  })
})

describe('bodies with a valid signature', () => {
  const signedVerdict = (text: string | Uint8Array, id: number | string = 1) =>
    verify({ rawBody: text, headers: signed(text, [secret], id) })

  it.each([
    '',
    '{',
    'ping',
    "{'update_id':1}",
    new Uint8Array([0xff]),
    Buffer.from('{"update_id":1,"t":"\xe9"}', 'latin1'),
  ])('verifyWebhook refuses the signed body %j, which is not JSON in UTF-8', (text) => {
    expect(signedVerdict(text)).toEqual(refusal('body_not_json'))
  })

  it.each([
    '1',
    'null',
    '"update_id"',
    '[{"update_id":1}]',
    '{}',
    '{"update":{"update_id":1}}',
    '{"update_id":"1"}',
    '{"update_id":1.5}',
    '{"update_id":-1}',
    '{"update_id":null}',
    '{"update_id":1e300}',
    '{"update_id":9007199254740993,"update_id":1e300}',
  ])('verifyWebhook refuses the signed body %s, which has no whole number as update_id', (text) => {
    expect(signedVerdict(text)).toEqual(refusal('body_without_update_id'))
  })

  it('verifyWebhook accepts a signed body with only an update_id', () => {
    expect(signedVerdict('{"update_id":1}')).toEqual({
      ok: true,
      updateId: '1',
      timestamp: seconds,
      body: { update_id: 1 },
      secretIndex: 0,
    })
  })

  it.each(['2', '01', '1.0', '', ' 1', 'abc', '9007199254740993'])(
    'verifyWebhook refuses the update id %j in the header if the body has another one',
    { tags: 'signatures/3' },
    (id) => {
      expect(verify(changed({ [updateId]: id }))).toEqual(refusal('update_id_mismatch'))
    },
  )

  it.each([
    ['{"update_id":9007199254740993}', '9007199254740993'],
    ['{ "a" : {"update_id": 3}, "b\\"[{": [4, "}"], "update_id" : 9007199254740993 , "c": 1}', '9007199254740993'],
    ['{"update_id":9007199254740993,"a":{"update_id":4}}', '9007199254740993'],
    ['{"update\\u005fid":18446744073709551615,"x":{}}', '18446744073709551615'],
    ['{"update_id":9007199254740993,"update_id":9007199254740995}', '9007199254740995'],
  ])('verifyWebhook returns all digits of the update_id in %s', (text, id) => {
    expect(signedVerdict(text, id)).toMatchObject({ ok: true, updateId: id })
    expect(signedVerdict(text, '9007199254740992')).toEqual(refusal('update_id_mismatch'))
  })

  it('verifyWebhook accepts a body as Uint8Array, Buffer slice, ArrayBuffer or string', () => {
    const padded = Buffer.concat([Buffer.from('xx'), rawBody, Buffer.from('yy')])
    const bytes = new Uint8Array(rawBody)
    for (const body of [bytes, padded.subarray(2, -2), bytes.buffer, rawBody.toString()]) {
      expect(verify({ rawBody: body })).toMatchObject({ ok: true, body: ping })
    }
  })
})

describe('order of checks', () => {
  it('verifyWebhook reports the first failing check in the order of reasons', { tags: 'signatures/1' }, () => {
    const body = Buffer.from('{"update_id":')
    const valid = signed(body)
    const wrong = { [signature]: 'x', [timestamp]: 'x', [updateId]: '2' }
    const now = (seconds + 1000) * 1000
    const reasonOf = (headers: object, clock = now, secrets = [other]) => {
      const verdict = verifyWebhook({ headers: headers as WebhookHeaders, rawBody: body, secrets, now: clock })
      return verdict.ok ? undefined : verdict.reason
    }
    expect([
      reasonOf({ [signature]: 'x', [timestamp]: 'x' }),
      reasonOf({ ...wrong, [updateId]: '1, 2' }),
      reasonOf(wrong),
      reasonOf({ ...wrong, [timestamp]: valid[timestamp] }),
      reasonOf({ ...wrong, [timestamp]: valid[timestamp] }, seconds * 1000),
      reasonOf({ ...valid, [updateId]: '2' }, seconds * 1000),
      reasonOf({ ...valid, [updateId]: '2' }, seconds * 1000, [secret]),
    ]).toEqual([
      'missing_header',
      'repeated_header',
      'malformed_timestamp',
      'stale',
      'malformed_signature',
      'bad_signature',
      'body_not_json',
    ])
  })
})

describe('caller errors', () => {
  const headers = {}
  const raw = (given: string) =>
    `rawBody must be the bytes of the request as they came (Buffer, Uint8Array, ArrayBuffer or string), not ${given}: ` +
    'the signature covers the bytes, and serialising a parsed body again gives other ones'
  const list = (given: string) => `secrets must be a list of one or more, such as [process.env.SECRET], not ${given}`
  it.each<[string, object, string]>([
    ['a parsed body', { rawBody: ping }, raw('a plain object')],
    ['no body', { rawBody: undefined }, raw('undefined')],
    ['the promise of a body', { rawBody: Promise.resolve('') }, raw('a Promise: await it first')],
    ['a stream', { rawBody: new ReadableStream() }, raw('an object of the class ReadableStream')],
    ['an empty secret', { secrets: [''] }, 'a secret must not be empty'],
    ['an empty secret among others', { secrets: [secret, new Uint8Array()] }, 'a secret must not be empty'],
    ['an undefined secret', { secrets: [undefined] }, 'every secret must be a string or a Uint8Array, not undefined'],
    ['a number as secret', { secrets: [5] }, 'every secret must be a string or a Uint8Array, not a number'],
    ['no secret', { secrets: [] }, list('an empty one')],
    ['a string instead of a list of secrets', { secrets: secret }, list('a string')],
    ['a set of secrets', { secrets: new Set([secret]) }, list('an object of the class Set')],
  ])('verifyWebhook throws TypeError for %s and says what it needs', (_, input, message) => {
    expect(() => verify({ headers, ...input })).toThrow(new TypeError(message))
  })

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a string first', rawBody.toString(), 'a string'],
    ['a promise', Promise.resolve(), 'a Promise: await it first'],
    ['a request of Fetch', new Request('http://127.0.0.1/'), 'an object of the class Request'],
    ['the event of a function host', { body: '{}', headers, isBase64Encoded: false }, 'an object that has headers'],
    ['a list', [rawBody, headers, [secret]], 'a list'],
  ])('verifyWebhook throws TypeError for %s as its argument and names what it takes', (_, input, given) => {
    const message = `verifyWebhook takes one object { rawBody, headers, secrets }, not ${given}`
    expect(() => verifyWebhook(input as never)).toThrow(new TypeError(message))
  })

  it.each<[string, object]>([
    ['now', { now: Number.NaN }],
    ['now', { now: () => undefined }],
    ['toleranceSeconds', { toleranceSeconds: -1 }],
    ['toleranceSeconds', { toleranceSeconds: Number.NaN }],
    ['toleranceSeconds', { toleranceSeconds: '300' }],
  ])('verifyWebhook throws RangeError for an invalid %s', (name, input) => {
    expect(() => verify({ headers, ...input })).toThrow(RangeError)
    expect(() => verify({ headers, ...input })).toThrow(name)
  })

  it('error messages of verifyWebhook contain neither the secret nor the body', () => {
    const messages = [{ rawBody: { a: 'body' } }, { secrets: ['secret', 5] }].map((input) => {
      try {
        return verify(input as object)
      } catch (error) {
        return (error as Error).message
      }
    })
    expect(messages).toEqual([expect.not.stringContaining("'body'"), expect.not.stringContaining('secret,')])
  })
})

it('verifyWebhook throws for an empty secret, even if a delivery is signed with it', { tags: 'signatures/3' }, () => {
  const forged = createHmac('sha256', '').update(`${seconds}.`).update(rawBody).digest('hex')
  expect(() => verify({ ...changed({ [signature]: forged }), secrets: [''] })).toThrow(TypeError)
})
