import { createHmac, Hmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import {
  explainMismatch,
  type MismatchCause,
  signWebhook,
  type VerifyWebhookInput,
  verifyWebhook,
} from '../../src/webhook/index.js'
import { mismatchCauses } from '../../src/webhook/mismatch-causes.js'
import file from '../vectors/webhook-signatures.json' with { type: 'json' }

fc.configureGlobal({ seed: 1 })

const vectors = file.vectors.map((it) => ({ ...it, body: Buffer.from(it.body_hex, 'hex') }))
const secret = 'whsec_test_secret_0123456789abcdef'
const seconds = 1_735_689_600
const update = { update_id: 2, type: 'message', message: { text: 'héllo </a> 🎁 €5 優惠\u2028', tags: [], n: [1, {}] } }
const compact = JSON.stringify(update)

interface Planted {
  /** Body that is signed; like `body`, which is verified, the compact update by default. */
  readonly signedBody?: Uint8Array | string
  readonly body?: Uint8Array | string
  readonly signingSecret?: string | Uint8Array
  readonly secrets?: readonly (string | Uint8Array)[]
  readonly headers?: Record<string, string>
  readonly now?: number
}

function inputOf(planted: Planted): VerifyWebhookInput {
  const { signedBody = compact, body = signedBody, signingSecret = secret } = planted
  const signed = signWebhook({ rawBody: signedBody, secrets: [signingSecret], timestamp: seconds, updateId: 2 })
  return {
    headers: { ...signed, ...planted.headers },
    rawBody: body,
    secrets: planted.secrets ?? [secret],
    now: planted.now ?? seconds * 1000,
  }
}
const causeOf = (planted: Planted) => explainMismatch(inputOf(planted))?.cause

const mac = (...signed: (string | Uint8Array)[]) => {
  const hmac = createHmac('sha256', secret)
  for (const piece of signed) hmac.update(piece)
  return { 'X-Platform-Signature-V2': hmac.digest('hex') }
}
const right = mac(`${seconds}.`, compact)['X-Platform-Signature-V2']
const signature = (value: string) => ({ headers: { 'X-Platform-Signature-V2': value } })
const milliseconds = { 'X-Platform-Timestamp': `${seconds}000` }

const bytes = Buffer.from('00ff10a0b1c2d3e4f5', 'hex')
const mark = '\ufeff'
/** The update as json.dumps() of Python and json_encode() of PHP serialise it. */
const python =
  '{"update_id": 2, "type": "message", "message": {"text": "h\\u00e9llo </a> \\ud83c\\udf81 \\u20ac5 \\u512a\\u60e0\\u2028", "tags": [], "n": [1, {}]}}'
const php =
  '{"update_id":2,"type":"message","message":{"text":"h\\u00e9llo <\\/a> \\ud83c\\udf81 \\u20ac5 \\u512a\\u60e0\\u2028","tags":[],"n":[1,{}]}}'
const go =
  '{"update_id":2,"type":"message","message":{"text":"héllo \\u003c/a\\u003e 🎁 €5 優惠\\u2028","tags":[],"n":[1,{}]}}'
const windows1252 = new TextDecoder('windows-1252')

const planted: [MismatchCause, string, Planted][] = [
  ['missing_header', 'no update id', { headers: { 'X-Platform-Update-Id': undefined as unknown as string } }],
  ['repeated_header', 'two ids', { headers: { 'x-platform-update-id': '2' } }],
  ['malformed_timestamp', 'a date', { headers: { 'X-Platform-Timestamp': '2025-01-01T00:00:00Z' } }],
  ['stale', '301 s old', { now: (seconds + 301) * 1000 }],
  ['future', '301 s ahead', { now: (seconds - 301) * 1000 }],
  ['planted_fault', 'a wrong signature', { secrets: ['another'], headers: { 'X-Platform-Fault': 'forged' } }],
  ['planted_fault', 'an old signature', { now: (seconds + 600) * 1000, headers: { 'x-platform-fault': 'stale' } }],
  ['malformed_signature', 'no signature at all', signature('none')],
  ['body_not_json', 'no JSON', { signedBody: 'ping' }],
  ['body_without_update_id', 'no id', { signedBody: '{}' }],
  ['update_id_mismatch', 'the id of another', { headers: { 'X-Platform-Update-Id': '3' } }],
  [
    'timestamp_milliseconds',
    'in header and signature',
    { headers: { ...milliseconds, ...mac(`${seconds}000.`, compact) } },
  ],
  ['timestamp_milliseconds', 'in the header', { headers: milliseconds }],
  ['timestamp_milliseconds', 'in the signature', { headers: mac(`${seconds}000.`, compact) }],
  ['missing_dot', 'timestamp and body', { headers: mac(String(seconds), compact) }],
  ['body_only', 'body alone', { headers: mac(compact) }],
  ['signature_upper_case', 'HEX', signature(right.toUpperCase())],
  ['signature_base64', 'base64', signature(Buffer.from(right, 'hex').toString('base64'))],
  ['signature_base64', 'base64url', signature(Buffer.from(right, 'hex').toString('base64url'))],
  ['signature_prefixed', 'sha256=', signature(`sha256=${right}`)],
  ['signature_prefixed', 'v2= and upper case', signature(`v2=${right.toUpperCase()}`)],
  ['old_secret', 'the second of three', { signingSecret: 'old', secrets: [secret, 'old', 'older'] }],
  [
    'empty_secret',
    'an unset variable',
    { headers: { 'X-Platform-Signature-V2': createHmac('sha256', '').update(`${seconds}.${compact}`).digest('hex') } },
  ],
  ['secret_trailing_newline', 'LF', { secrets: [`${secret}\n`] }],
  ['secret_trailing_newline', 'CRLF', { secrets: [`${secret}\r\n`] }],
  ['secret_trailing_newline', 'spaces around', { secrets: [` ${secret} `] }],
  ['secret_trimmed', 'LF', { signingSecret: `${secret}\n` }],
  ['secret_trimmed', 'CRLF', { signingSecret: `${secret}\r\n` }],
  ['secret_quoted', 'double', { secrets: [`"${secret}"`] }],
  ['secret_quoted', 'single, with a line end', { secrets: [`'${secret}'\n`] }],
  ['secret_prefix', 'dropped here', { secrets: [secret.slice(6)] }],
  ['secret_prefix', 'dropped there', { signingSecret: secret.slice(6) }],
  ['secret_base64_decoded', 'here', { signingSecret: bytes.toString('base64'), secrets: [bytes] }],
  ['secret_base64_decoded', 'here, base64url', { signingSecret: bytes.toString('base64url'), secrets: [bytes] }],
  [
    'secret_base64_decoded',
    'here, without the prefix',
    { signingSecret: `whsec_${bytes.toString('base64')}`, secrets: [bytes] },
  ],
  ['secret_base64_decoded', 'there', { signingSecret: Buffer.from(secret, 'base64') }],
  ['secret_base64_decoded', 'there, without the prefix', { signingSecret: Buffer.from(secret.slice(6), 'base64') }],
  ['secret_hex_decoded', 'here', { signingSecret: bytes.toString('hex'), secrets: [bytes] }],
  ['secret_hex_decoded', 'here, upper case', { signingSecret: bytes.toString('hex').toUpperCase(), secrets: [bytes] }],
  ['secret_hex_decoded', 'there', { signingSecret: bytes, secrets: [bytes.toString('hex')] }],
  ['body_trailing_newline_added', 'LF', { body: `${compact}\n` }],
  ['body_trailing_newline_added', 'CRLF', { body: `${compact}\r\n` }],
  ['body_trailing_newline_added', 'two', { body: `${compact}\n\n` }],
  ['body_trailing_newline_removed', 'LF', { signedBody: `${compact}\n`, body: compact }],
  ['body_trailing_newline_removed', 'CRLF', { signedBody: `${compact}\r\n`, body: compact }],
  ['body_line_endings', 'LF to CRLF', { signedBody: '{\n"update_id":2\n}\n', body: '{\r\n"update_id":2\r\n}\r\n' }],
  ['body_line_endings', 'CRLF to LF', { signedBody: '{\r\n"update_id":2\r\n}', body: '{\n"update_id":2\n}' }],
  [
    'body_line_endings',
    'in bytes that are no UTF-8',
    { signedBody: Buffer.from('ff0d0aff', 'hex'), body: Buffer.from('ff0aff', 'hex') },
  ],
  ['body_bom_added', 'EF BB BF', { body: mark + compact }],
  ['body_bom_removed', 'EF BB BF', { signedBody: mark + compact, body: compact }],
  ['body_reserialised', 'indented by two', { body: JSON.stringify(update, null, 2) }],
  ['body_reserialised', 'by Python', { body: python }],
  ['body_reserialised', 'by PHP', { body: php }],
  ['body_reserialised', 'by Go', { body: go }],
  [
    'body_reserialised',
    'from two spaces and a line end',
    { signedBody: `${JSON.stringify(update, null, 2)}\n`, body: compact },
  ],
  ['body_reserialised', 'from tabs', { signedBody: JSON.stringify(update, null, '\t'), body: compact }],
  ['body_reserialised', 'from Python', { signedBody: python, body: compact }],
  ['body_reserialised', 'from PHP', { signedBody: php, body: compact }],
  ['body_reserialised', 'from Go', { signedBody: go, body: compact }],
  ['body_stringified_twice', 'as a string', { body: JSON.stringify(compact) }],
  ['body_stringified_twice', 'as a Buffer', { body: JSON.stringify(Buffer.from(compact)) }],
  ['body_base64', 'by a gateway', { body: Buffer.from(compact).toString('base64') }],
  ['body_latin1', 'decoded by Latin-1', { body: Buffer.from(compact).toString('latin1') }],
  ['body_latin1', 'decoded by Windows-1252', { body: windows1252.decode(Buffer.from(compact)) }],
  [
    'body_latin1',
    'encoded as Latin-1',
    { signedBody: '{"update_id":2,"t":"é"}', body: Buffer.from('{"update_id":2,"t":"é"}', 'latin1') },
  ],
  [
    'body_invalid_utf8_replaced',
    'FF',
    { signedBody: Buffer.from('ff', 'hex'), body: Buffer.from('ff', 'hex').toString() },
  ],
  ['body_object_text', 'String(object)', { body: String(update) }],
  ['body_too_long', 'of another sender', { body: 'a'.repeat(65_537) }],
  ['body_empty', 'a stream read before', { body: '' }],
]

describe('explained mismatches', () => {
  it.each(planted)('explainMismatch returns the cause %s for this mistake: %s', (cause, _, mistake) => {
    expect(verifyWebhook(inputOf(mistake)).ok).toBe(cause === 'old_secret')
    expect(explainMismatch(inputOf(mistake))).toMatchObject({ cause })
  })

  it('the mistakes in this test file cover every cause that explainMismatch can return', () => {
    expect([...new Set(planted.map(([cause]) => cause))].sort()).toEqual(Object.keys(mismatchCauses).sort())
  })

  it.each(['duplicate', 'late', 'lost', 'constructor', 'forged, stale'])(
    'explainMismatch looks for a mistake in a delivery with the fault %s',
    (fault) => {
      const headers = { ...mac(compact), 'X-Platform-Fault': fault }
      expect(causeOf({ headers })).toBe('body_only')
      expect(explainMismatch(inputOf({ headers: { 'X-Platform-Fault': fault } }))).toBeNull()
    },
  )

  it('explainMismatch detects a mistake if only the second secret is correct', () => {
    const secrets = ['first', secret]
    expect(causeOf({ secrets, body: `${compact}\n` })).toBe('body_trailing_newline_added')
    expect(causeOf({ secrets: ['first', `${secret}\n`] })).toBe('secret_trailing_newline')
    expect(causeOf({ secrets, headers: mac(compact) })).toBe('body_only')
  })

  it('explainMismatch detects a mistake if only the second signature matches (secret rotation)', () => {
    const headers = { ...signature(`${'0'.repeat(64)},${right}`).headers }
    expect(causeOf({ headers, body: `${compact}\n` })).toBe('body_trailing_newline_added')
    expect(causeOf({ headers })).toBeUndefined()
  })

  it('explainMismatch reports a damaged secret rather than the age of a stale delivery', () => {
    expect(causeOf({ now: (seconds + 9999) * 1000, secrets: [`${secret}\n`] })).toBe('secret_trailing_newline')
    expect(causeOf({ now: (seconds + 9999) * 1000, secrets: ['unrelated'] })).toBe('stale')
  })

  it.each(vectors.filter((it) => it.body_text?.includes('update_id')))(
    'explainMismatch detects that the body of the vector "$name" was reserialised',
    (vector) => {
      const value: unknown = JSON.parse(vector.body.toString().replace(mark, ''))
      const id = /"update_id":(\d+)/.exec(vector.body.toString())?.[1] ?? ''
      const explained = explainMismatch({
        headers: {
          'X-Platform-Signature-V2': vector.signature,
          'X-Platform-Timestamp': vector.timestamp,
          'X-Platform-Update-Id': id,
        },
        rawBody: JSON.stringify(value, null, 2),
        secrets: [vector.secret_token],
        now: seconds * 1000,
      })
      // A parsed body has lost its CRLF line breaks or byte order mark, so no guess can restore it.
      const lost = vector.name === 'crlf' || vector.name === 'bom'
      expect(explained?.cause).toBe(lost ? undefined : 'body_reserialised')
    },
  )

  it('explainMismatch detects a changed JSON indentation for any message text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.constantFrom(0, 1, 2, 4, '\t'), (text, indent) => {
        const body = { update_id: 2, message: { text } }
        const again = JSON.stringify(body, null, indent)
        const cause = causeOf({ signedBody: JSON.stringify(body), body: again })
        expect(cause).toBe(indent === 0 ? undefined : 'body_reserialised')
      }),
    )
  })
})

describe('no explanation', () => {
  it('explainMismatch returns null for a delivery that verifies', () => {
    expect(explainMismatch(inputOf({}))).toBeNull()
  })

  it('explainMismatch returns null for an unrelated secret or an unrelated body', () => {
    expect(explainMismatch(inputOf({ secrets: ['unrelated'] }))).toBeNull()
    expect(explainMismatch(inputOf({ body: '{"update_id":2,"type":"ping"}' }))).toBeNull()
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 60 }), (noise) => {
        fc.pre(!Buffer.from(noise).includes('\ufffd'))
        expect(explainMismatch(inputOf({ body: noise }))).toBeNull()
      }),
    )
  })
})

const long = 32 * 1024
it.each([
  ['nested arrays', `${'['.repeat(long)}${']'.repeat(long)}`],
  ['nested objects', `${'{"a":'.repeat(long / 8)}1${'}'.repeat(long / 8)}`],
  ['short values in nested arrays', `${'['.repeat(16)}${'1,'.repeat(long - 17)}1${']'.repeat(16)}`],
  ['line ends', `${'\n'.repeat(2 * long - 1)}x`],
  ['carriage returns', `${'\r'.repeat(2 * long - 1)}x`],
  ['invalid base64', `${'A'.repeat(long)}${' '.repeat(long - 1)}!`],
])('explainMismatch returns null for 64 KiB of %s', (_, body) => {
  expect(explainMismatch(inputOf({ body }))).toBeNull()
})

it('explainMismatch names a body beyond 64 KiB, whose mistakes it does not try', () => {
  const longer = Buffer.alloc(2 * long + 1, '1,')
  expect(causeOf({ body: longer })).toBe('body_too_long')
  expect(explainMismatch(inputOf({ body: longer.subarray(1) }))).toBeNull()
  const upper = createHmac('sha256', secret).update(`${seconds}.`).update(longer).digest('hex').toUpperCase()
  expect(causeOf({ ...signature(upper), body: longer })).toBe('signature_upper_case')
})

it('explainMismatch hashes a body beyond 64 KiB once for each secret', () => {
  const hashed = vi.spyOn(Hmac.prototype, 'update')
  const body = Buffer.alloc(1024 * 1024)
  const isBody = (piece: unknown) => (piece as Uint8Array).length === body.length
  try {
    explainMismatch(inputOf({ body, secrets: ['a', 'b'] }))
    expect(hashed.mock.calls.filter(([piece]) => isBody(piece))).toHaveLength(4)
  } finally {
    hashed.mockRestore()
  }
})

it('explainMismatch reports malformed_signature for a megabyte of signature prefixes', () => {
  expect(causeOf(signature('a='.repeat(500_000)))).toBe('malformed_signature')
})

it('explainMismatch returns sentences that contain neither the secret nor the body', () => {
  for (const [, , mistake] of planted) {
    const { explanation, fix } = explainMismatch(inputOf(mistake)) ?? { explanation: '', fix: '' }
    expect(explanation).toMatch(/^[A-Z"].*\.$/)
    expect(fix).toMatch(/^[A-Z].*\.$/)
    expect(explanation + fix).not.toContain(secret.slice(6))
    expect(explanation + fix).not.toContain('héllo')
  }
})

it('explainMismatch throws TypeError for a parsed body and for an empty secret', () => {
  expect(() => explainMismatch({ ...inputOf({}), rawBody: update as unknown as string })).toThrow(TypeError)
  expect(() => explainMismatch({ ...inputOf({}), secrets: [''] })).toThrow(TypeError)
})
