import { describe, expect, it, test } from 'vitest'
import * as secure from '../../src/secure/index.js'

const request = { method: 'POST', path: '/api/v1/x', query: {}, headers: {}, body: { a: 1 } }
const read = (value: unknown) => secure.readInnerRequest(Buffer.from(JSON.stringify(value)))
const partOf = (value: unknown) => {
  const outcome = read(value)
  return outcome.ok ? null : outcome.part
}

describe('inner request', () => {
  it('inner request needs method and path; its query, headers and body are optional', () => {
    expect(read({ method: 'POST', path: '/api/v1/x' })).toEqual({
      ok: true,
      request: { method: 'POST', path: '/api/v1/x', query: [], headers: {} },
    })
    expect(partOf({ path: '/api/v1/x' })).toBe('method')
    expect(partOf({ method: 'GET' })).toBe('path')
    expect(partOf({ ...request, extra: 1 })).toBe('members')
  })

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])('inner request with the method %s is accepted', (method) => {
    expect(partOf({ ...request, method, body: null })).toBeNull()
  })

  it('inner request with the body null has no body; any other body of a GET request is refused', () => {
    for (const method of ['GET', 'DELETE']) {
      const outcome = read({ ...request, method, body: null })
      expect(outcome.ok && 'body' in outcome.request).toBe(false)
    }
    expect(partOf({ ...request, method: 'GET', body: {} })).toBe('body')
    expect(partOf({ ...request, method: 'GET', body: false })).toBe('body')
    expect(partOf({ ...request, method: 'DELETE' })).toBeNull()
  })

  it.each([
    [{ page: 1, all: true, name: 'a&b', none: '' }, ['page=1', 'all=true', 'name=a&b', 'none=']],
    [{ a: ['x', 2, false], b: [] }, ['a=x', 'a=2', 'a=false']],
    [JSON.parse('{"__proto__":"x"}'), ['__proto__=x']],
  ])('inner request with scalars or arrays of scalars as query values is accepted: %j', (query, pairs) => {
    const outcome = read({ ...request, query })
    expect(outcome.ok && outcome.request.query.map(([name, value]) => `${name}=${value}`)).toEqual(pairs)
  })

  it.each([null, [], 'a=b', { a: null }, { a: {} }, { a: [[1]] }, { a: [null] }])(
    'inner request with the query %j is rejected unless the query is null',
    (query) => {
      // The query null counts as an absent query.
      expect(partOf({ ...request, query })).toBe(query === null ? null : 'query')
    },
  )

  it('inner request with a query number that overflows a double is rejected', () => {
    const text = '{"method":"GET","path":"/api/v1/x","query":{"a":1e999}}'
    expect(secure.readInnerRequest(Buffer.from(text))).toMatchObject({ ok: false, part: 'query' })
  })

  it('inner request keeps the six known headers in any case, and drops others', { tags: 'inner-requests/3' }, () => {
    const headers = {
      Authorization: 'Bearer x',
      'CONTENT-TYPE': 'application/json',
      accept: '*/*',
      'Idempotency-Key': 'k',
      'accept-language': 'de',
      traceparent: '00-0-0-00',
      'x-forwarded-for': '1.2.3.4',
      'content-length': '5',
      'x-admin': '1',
      __proto__x: 'y',
    }
    const outcome = read({ ...request, headers })
    expect(outcome.ok && outcome.request.headers).toEqual({
      authorization: 'Bearer x',
      'content-type': 'application/json',
      accept: '*/*',
      'idempotency-key': 'k',
      'accept-language': 'de',
      traceparent: '00-0-0-00',
    })
  })

  it.each([
    'connection',
    'Keep-Alive',
    'proxy-authenticate',
    'proxy-authorization',
    'proxy-connection',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'Host',
    'cookie',
    'ORIGIN',
    'forwarded',
  ])('inner request with the header %s is rejected', { tags: 'inner-requests/3' }, (name) => {
    expect(partOf({ ...request, headers: { [name]: 'x' } })).toBe('headers')
  })

  it.each([
    { 'x y': '1' },
    { '': '1' },
    { 'x:': '1' },
    { accept: 'a\nb' },
    { accept: 'a\u0000' },
    { accept: '\u007f' },
    { accept: 'ł' },
    { accept: 1 },
    { accept: ['a'] },
    { 'x-dropped': 'a\r\nb: c' },
    { 'x-dropped': '1', 'X-Dropped': '2' },
    { Accept: '1', ACCEPT: '1' },
    // U+212A, the Kelvin sign: its lower case is a k.
    { 'idempotency-\u212aey': '1' },
    [],
    'accept: a',
  ])('inner request with the headers %j is rejected', (headers) => {
    expect(partOf({ ...request, headers })).toBe('headers')
  })

  it('inner request with 65 levels of nesting is rejected, and one with 64 is accepted', () => {
    const nested = (levels: number) => {
      let body: unknown = 1
      for (let level = 1; level < levels; level++) body = [body]
      return { ...request, body }
    }
    expect(partOf(nested(64))).toBeNull()
    expect(partOf(nested(65))).toBe('json')
    expect(partOf({ method: 'POST', path: '/api/v1/x', body: Array(100).fill({}) })).toBeNull()
  })

  it.each(['', 'null', '[]', '"x"', '{', '\ufeff{}'])('inner request with the plaintext %j is rejected', (text) => {
    expect(secure.readInnerRequest(Buffer.from(text))).toMatchObject({ ok: false, part: 'json' })
  })
})

test('inner request whose plaintext is not UTF-8 is rejected', () => {
  const [before, after] = ['{"method":"POST","path":"/api/v1/x","body":"', '"}']
  const around = (byte: number) => Buffer.concat([Buffer.from(before), Uint8Array.of(byte), Buffer.from(after)])
  expect(secure.readInnerRequest(around(0x41)).ok).toBe(true)
  expect(secure.readInnerRequest(around(0xff))).toMatchObject({ ok: false, part: 'json' })
})

test('server reads an inner request as the client encoded it', () => {
  const encoded = secure.encodeInnerRequest({
    method: 'PATCH',
    path: '/api/v1/a/b?x=%C3%A9&x=2&y=',
    headers: { accept: 'application/json', 'user-agent': 'x' },
    body: ' { "n": 9007199254740993 } ',
  })
  if (!encoded.ok) throw new Error(encoded.part)
  expect(Buffer.from(encoded.plaintext).toString()).toContain('"body": { "n": 9007199254740993 } }')
  expect(secure.readInnerRequest(encoded.plaintext)).toMatchObject({
    ok: true,
    request: {
      method: 'PATCH',
      path: '/api/v1/a/b',
      query: [
        ['x', 'é'],
        ['x', '2'],
        ['y', ''],
      ],
      headers: { accept: 'application/json' },
    },
  })
})

describe('inner response', () => {
  const readResponse = (value: unknown) => secure.readInnerResponse(Buffer.from(JSON.stringify(value)))

  it('inner response keeps only text headers, in lower case, and needs a status of 200 to 599', () => {
    const headers = { 'Retry-After': '1', 'x-n': 1 }
    expect(readResponse({ status: 429, headers, body: { a: 1 }, other: 1 })).toEqual({
      status: 429,
      headers: { 'retry-after': '1' },
      body: '{"a":1}',
    })
    expect(readResponse({ status: 200 })).toEqual({ status: 200, headers: {}, body: '' })
    expect(readResponse({ status: 599 })).toEqual({ status: 599, headers: {}, body: '' })
    for (const status of [undefined, null, '200', 199, 600, 200.5]) expect(readResponse({ status })).toBeUndefined()
    for (const value of [null, [], 'x']) expect(readResponse(value)).toBeUndefined()
    expect(secure.readInnerResponse(Uint8Array.of(0xff))).toBeUndefined()
  })

  it.each([
    [true, 200, '{"success":true}'],
    [true, 299, ''],
    [true, 201, '{"items":[]}'],
    [false, 200, '{"success":false}'],
    [false, 300, '{"success":true}'],
    [false, 199, '{"success":true}'],
    [false, 409, '{}'],
  ])('isBusinessSuccess() is %s for status %i and body %s', { tags: 'inner-responses/1' }, (expected, status, body) => {
    expect(secure.isBusinessSuccess({ status, headers: {}, body })).toBe(expected)
  })
})

it.each(['"', '\\', '"\\"', '\t', 'ü', 'plain; text=1'])(
  'encoded inner response keeps the header value %j',
  (value) => {
    const response = { status: 200, headers: { 'x-request-id': value }, body: '' }
    expect(secure.readInnerResponse(secure.encodeInnerResponse(response))).toEqual(response)
  },
)

describe('logical path', () => {
  it('isLogicalPath() accepts 512 characters, not 513', { tags: 'inner-requests/2' }, () => {
    const longest = `/api/v1/${'a'.repeat(512 - 8)}`
    expect([longest, `${longest}a`].map(secure.isLogicalPath)).toEqual([true, false])
  })

  it.each(['a', 'a/b', '...', '.a', 'a..', 'secured', 'in-secure', 'a/secure.json'])(
    'isLogicalPath() accepts /api/v1/%s',
    (rest) => {
      expect(secure.isLogicalPath(`/api/v1/${rest}`)).toBe(true)
    },
  )

  it.each(['', 'a/', '.', 'a/..', './a', 'a/../b', 'secure', 'a/SeCuRe', 'Secure/session', 'a//b', 'a%2e', 'a\n'])(
    'isLogicalPath() rejects /api/v1/%j',
    { tags: 'inner-requests/2' },
    (rest) => {
      expect(secure.isLogicalPath(`/api/v1/${rest}`)).toBe(false)
      expect(secure.isLogicalPath(`/API/v1/${rest}`)).toBe(false)
    },
  )
})
