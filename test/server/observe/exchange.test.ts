import { describe, expect, it } from 'vitest'
import type { Endpoint } from '../../../src/contract/endpoint.js'
import { contract, endpoints } from '../../../src/contract/index.js'
import { HIDDEN } from '../../../src/contract/platform/activity.js'
import type { Schema } from '../../../src/contract/schema.js'
import { hasSecret } from '../../../src/server/masking.js'
import { type CapturedCall, exchangeOf } from '../../../src/server/observe/exchange.js'
import { SecretNumbers } from '../../../src/server/observe/secret-numbers.js'
import { handedIn, leaksIn } from '../../support/canary.js'

const { redeem, verify } = contract.vouchers
const canaries = Object.entries(handedIn)

const call = (route: Endpoint, parts: Partial<CapturedCall> = {}): CapturedCall => ({
  route,
  method: route.method,
  url: route.path,
  rawHeaders: [],
  body: null,
  status: 200,
  responseHeaders: {},
  responseBody: null,
  ...parts,
})

/** The exchange with its bodies as text. */
function shown(parts: CapturedCall) {
  const { request, response } = exchangeOf(parts)
  const textOf = (body: string | null | undefined) => (body == null ? null : Buffer.from(body, 'base64').toString())
  return { url: request.url, request, response, sent: textOf(request.body), received: textOf(response?.body) }
}

const leaks = (parts: CapturedCall) => leaksIn(JSON.stringify(shown(parts)), handedIn)
const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const success = (data: unknown) => JSON.stringify({ success: true, data, requestId: 'req_1' })

/** A value of a schema with the text at each member that is marked as a secret. */
function withSecret(schema: Schema | undefined, secret: string): unknown {
  const it = schema as { [keyword: string]: unknown } & { properties?: object; items?: Schema; enum?: unknown[] }
  if (it?.['x-secret']) return secret
  if (it?.properties !== undefined) {
    return Object.fromEntries(Object.entries(it.properties).map(([name, member]) => [name, withSecret(member, secret)]))
  }
  if (it?.items !== undefined) return [withSecret(it.items, secret)]
  return it?.enum?.[0] ?? null
}

describe('exchange', () => {
  it('captured exchange shows method, URL, headers and bodies of a call', () => {
    const body = { template_id: 'tpl_1', external_issue_id: 'order-1', recipient_user_id: 'user-42' }
    const it = shown(
      call(contract.vouchers.issue, {
        rawHeaders: ['Host', 'localhost', 'Idempotency-Key', 'order-1-issue'],
        body: json(body),
        status: 404,
        responseHeaders: { 'content-type': 'application/json' },
        responseBody: '{"success":false,"code":"TEMPLATE_NOT_FOUND","message":"m","retryable":false,"requestId":"r"}',
      }),
    )
    expect(JSON.parse(it.sent as string)).toEqual(body)
    expect(it.request).toMatchObject({
      method: 'POST',
      url: contract.vouchers.issue.path,
      headers: [
        ['Host', 'localhost'],
        ['Idempotency-Key', 'order-1-issue'],
      ],
      body_bytes: json(body).length,
    })
    expect(it.response).toMatchObject({ status: 404, headers: [['content-type', 'application/json']] })
    expect(it.received).toContain('"code":"TEMPLATE_NOT_FOUND"')
  })

  it('captured exchange has no response if the client got none', () => {
    expect(exchangeOf(call(verify, { status: null })).response).toBeNull()
  })

  it('captured exchange cuts a body at 64 KiB', { tags: 'activity/3' }, () => {
    const body = json({ chat_id: 'chat_1', text: 'x'.repeat(70_000) })
    const { request } = exchangeOf(call(contract.bots.send, { body }))
    expect([Buffer.from(request.body ?? '', 'base64').length, request.body_bytes]).toEqual([65_536, body.length])
  })

  const marked = endpoints.filter((it) => hasSecret(it.body) || hasSecret(it.output))
  it('captured exchange masks credentials and tokens in bodies', { tags: 'credentials/1' }, () => {
    expect(marked.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['vouchers.issue', 'vouchers.verify', 'vouchers.redeem', 'bots.issue', 'tokens.create']),
    )
  })

  it.each(marked.map((it) => [it.id, it] as const))(
    'exchange hides the members of %s that the contract marks',
    { tags: 'secrets-of-exchanges/1' },
    (_id, endpoint) => {
      for (const [, secret] of canaries) {
        const body = json(withSecret(endpoint.body, secret))
        const responseBody = success(withSecret(endpoint.output, secret))
        const it = shown(call(endpoint, { body, responseBody }))
        expect(leaksIn(JSON.stringify(it), handedIn)).toEqual([])
        expect(`${it.sent} ${it.received}`).toContain(HIDDEN)
      }
    },
  )

  it.each(canaries)('exchange hides %s wherever it is written', { tags: 'secrets-of-exchanges/1' }, (_name, secret) => {
    const credential = { type: 'redeem_code', value: secret }
    const calls: readonly Partial<CapturedCall>[] = [
      { rawHeaders: ['Authorization', `Bearer ${secret}`, 'Cookie', `a=b; session=${secret}`] },
      { rawHeaders: ['X-Api-Key', secret, 'x-anything', secret, 'Referer', `http://x/?a=${secret}`] },
      { responseHeaders: { 'set-cookie': `session=${secret}; HttpOnly` } },
      { url: `${redeem.path}?code=${secret}&credential=${encodeURIComponent(secret)}&${secret}=1` },
      { url: `/api/v1/${secret}/redeem` },
      { body: json({ credential }) },
      { body: json({ credential: secret }) },
      { body: json({ credential: [credential] }) },
      { body: json({ credential: { type: secret, value: { text: secret } } }) },
      { body: json({ credential: { code: secret } }) },
      { body: json({ code: secret, [secret]: 1, deep: { list: [{ of: secret }] } }) },
      { body: json(secret) },
      { body: json([credential]) },
      { body: Buffer.from(`{"credential":{"value":"${secret}"`) },
      { body: { json: { credential, code: secret }, length: 100 } },
      { body: json({ credential }), responseBody: `{"success":false,"details":{"errors":[{"pointer":"/${secret}"}]}}` },
      { body: json({ credential }), responseBody: secret },
      { body: json({ credential }), responseBody: success({ id: secret, other: secret }) },
    ]
    for (const parts of calls) expect(leaks(call(redeem, parts)), JSON.stringify(parts)).toEqual([])
    expect(leaks({ ...call(redeem, { url: `/unknown/${secret}?a=${secret}` }), route: undefined })).toEqual([])
    const path = contract.vouchers.redemption.path.replace(':redemptionId', encodeURIComponent(secret))
    expect(leaks(call(contract.vouchers.redemption, { url: path }))).toEqual([])
  })

  it('captured exchange hides codes and tokens in free text, however typed', { tags: 'secrets-of-exchanges/2' }, () => {
    const texts = ['5CNR-YK3T-W8HQ-2MPX', '5cnr yk3t w8hq 2mpx', 'x 5CNRYK3TW8HQ2MPX y', handedIn['token of a file']]
    for (const text of texts) {
      const body = json({ chat_id: 'chat_1', text: `Here: ${text}.` })
      const { sent } = shown(call(contract.bots.send, { body }))
      expect(sent).toContain(HIDDEN)
      expect(sent).not.toContain(text)
    }
    const plain = { chat_id: 'chat_1', text: 'Your order 3fa85f64-5717-4562-b3fc-2c963f66afa6 is ready on 2026-11-23' }
    expect(JSON.parse(shown(call(contract.bots.send, { body: json(plain) })).sent as string)).toEqual(plain)
  })

  it.each(['Cookie', 'Set-Cookie', 'Authorization', 'Proxy-Authorization', 'X-Api-Key', 'X-Session'])(
    'captured exchange hides the header %s of a call whatever its value is',
    { tags: 'secrets-of-exchanges/1' },
    (name) => {
      const responseHeaders = { [name.toLowerCase()]: 'theme=dark' }
      const { request, response } = exchangeOf(call(verify, { rawHeaders: [name, 'theme=dark'], responseHeaders }))
      expect([request.headers, response?.headers]).toEqual([[[name, HIDDEN]], [[name.toLowerCase(), HIDDEN]]])
    },
  )

  it.each([
    ['an unknown member', (deep: string) => `{"zz":${deep}}`],
    ['metadata', (deep: string) => `{"metadata":{"a":${deep}}}`],
  ])('exchange shows only the length of a deep body (%s)', { tags: 'secrets-of-exchanges/3' }, (_where, bodyWith) => {
    const body = Buffer.from(bodyWith('['.repeat(30_000) + ']'.repeat(30_000)))
    const { request } = exchangeOf(call(contract.vouchers.issue, { body }))
    expect([request.body, request.body_bytes]).toEqual([null, body.length])
  })

  it('captured exchange hides half of a surrogate pair, which no URL can hold', () => {
    const { sent } = shown(call(redeem, { body: Buffer.from('{"credentail":"\\ud800 and seven more"}') }))
    expect(sent).toBe(`{"credentail":"${HIDDEN}"}`)
  })

  it('captured exchange shows no text of a call with over 1,000 secrets', { tags: 'secrets-of-exchanges/3' }, () => {
    const body = json({ zz: Array.from({ length: 1_001 }, (_, n) => `secret-${n}/`) })
    const it = exchangeOf(call(contract.vouchers.issue, { body, rawHeaders: ['Host', 'localhost'] }))
    expect(it.request).toMatchObject({ body: null, body_bytes: body.length, url: HIDDEN, headers: [['Host', HIDDEN]] })
  })

  it('exchange shows no body if the search for secrets takes too long', { tags: 'secrets-of-exchanges/3' }, () => {
    const secrets = Array.from({ length: 100 }, (_, n) => `secret-of-${n}`)
    const issued = (length: number) =>
      exchangeOf(call(contract.vouchers.issue, { body: json({ metadata: { text: 'x'.repeat(length) }, secrets }) }))
    expect(issued(1_000).request.body).not.toBeNull()
    expect(issued(60_000).request.body).toBeNull()
  })

  it('captured exchange shows no text with the beginning of a secret of more than 200 characters', () => {
    const long = 'long secret of this server, '.repeat(20)
    const credential = { type: 'redeem_code', value: long }
    const [whole, beginning] = [long, `${long.slice(0, 200)}, cut`].map((reference) =>
      shown(call(redeem, { body: json({ credential, reference }) })),
    )
    expect([whole?.sent, beginning?.sent]).toEqual([null, null])
  })

  it('exchange hides a secret that contains another one of the same call', { tags: 'secrets-of-exchanges/2' }, () => {
    const [short, long] = ['under-the-counter', 'under-the-counter-of-the-till']
    const { sent } = shown(call(redeem, { body: json({ a: short, b: long, reference: `${long} ${long} y ${short}` }) }))
    expect(JSON.parse(sent as string).reference).toBe(`${HIDDEN} ${HIDDEN} y ${HIDDEN}`)
  })

  it('exchange shows only the length of a body of more than 128 KiB', { tags: 'secrets-of-exchanges/3' }, () => {
    const responseBody = success({ items: ['x'.repeat(131_072)] })
    const { response } = exchangeOf(call(contract.templates.list, { responseBody }))
    expect([response?.body, response?.body_bytes]).toEqual([null, responseBody.length])
  })

  it('captured exchange shows the names of unknown members', () => {
    expect(shown(call(redeem, { body: json({ credentail: 'M9S3' }) })).sent).toBe(`{"credentail":"${HIDDEN}"}`)
  })

  it.each([redeem, contract.apps.create])(
    'captured exchange shows only the length of malformed JSON sent to $id',
    { tags: 'secrets-of-exchanges/3' },
    (endpoint) => {
      const body = Buffer.from('{"secret_token":"of another call"')
      const { request } = exchangeOf(call(endpoint, { body }))
      expect([request.body, request.body_bytes]).toEqual([null, body.length])
    },
  )

  it.each([
    'redeem-5CNR-YK3T-W8HQ-2MPX',
    '5cnr-yk3t-w8hq-2mpx-1',
    'till-test-5CNR-YK3T-W8HQ-2MPX-order',
    'redeem-5CNRYK3TW8HQ2MPX',
  ])('captured exchange hides the code in the idempotency key %s', { tags: 'secrets-of-exchanges/2' }, (key) => {
    const { request } = exchangeOf(call(contract.vouchers.reverse, { rawHeaders: ['Idempotency-Key', key] }))
    expect(request.headers[0]?.[1]).toContain(HIDDEN)
    expect(leaksIn(JSON.stringify(request), handedIn)).toEqual([])
  })

  it('captured exchange keeps ids and declared query members of its URL', { tags: 'secrets-of-exchanges/1' }, () => {
    const { redemption } = contract.vouchers
    const url = redemption.path.replace(':redemptionId', 'rdm_01JDKQ4Z8N6W2T5Y9RB3CV7HXN')
    expect(shown(call(redemption, { url })).url).toBe(url)
    const list = `${contract.templates.list.path}?status=active&limit=5`
    expect(shown(call(contract.templates.list, { url: list })).url).toBe(list)
    expect(shown(call(contract.templates.list, { url: `${list}&colour=blue` })).url).toBe(`${list}&colour=${HIDDEN}`)
  })

  it('exchange hides the path and secret of a webhook, also in a response', { tags: 'secrets-of-exchanges/3' }, () => {
    const secret = handedIn['webhook secret of a file']
    const response = {
      headers: [['Set-Cookie', 'a=b-secret-value']] as [string, string][],
      body: Buffer.from(`no ${secret} at /hooks/path-secret`),
      bodyBytes: 60,
    }
    const it = exchangeOf({
      deliveryId: 'dlv_1',
      updateId: 1,
      botId: 'bot_1',
      url: 'https://app.example/hooks/path-secret',
      headers: { 'X-Platform-Timestamp': '1' },
      body: Buffer.from('{"update_id":1}'),
      startedAt: 0,
      endedAt: 0,
      attempt: 1,
      manual: false,
      replay: false,
      result: { statusCode: 401, error: null, durationMs: 1, response },
      secrets: [secret],
    })
    expect(it.request).toMatchObject({ method: 'POST', url: 'https://app.example/…' })
    expect(it.response).toMatchObject({ status: 401, headers: [['Set-Cookie', HIDDEN]] })
    expect(Buffer.from(it.response?.body ?? '', 'base64').toString()).toBe(`no ${HIDDEN} at ${HIDDEN}`)
  })

  it('named secret has one name in header, URL, body and response, in each spelling', { tags: 'activity/3' }, () => {
    const names = new SecretNumbers()
    const code = 'M9S3-46Q3-D25V-T4FJ'
    const token = 'sop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ'
    const parts = call(redeem, {
      rawHeaders: ['authorization', `Bearer ${token}`, 'idempotency-key', 'm9s346q3 d25vt4fj'],
      url: `${redeem.path}?other=${token}`,
      body: json({ credential: { type: 'redeem_code', value: code }, reference: `till ${token}` }),
      responseBody: success({ note: 'other' }),
    })
    const { request } = exchangeOf(parts, (secret) => names.nameOf(secret))
    expect(Object.fromEntries(request.headers)).toEqual({
      authorization: '[hidden 1]',
      'idempotency-key': '[hidden 2]',
    })
    expect(request.url).toBe(`${redeem.path}?other=[hidden 1]`)
    const sent = JSON.parse(Buffer.from(request.body ?? '', 'base64').toString())
    expect(sent).toEqual({ credential: { type: 'redeem_code', value: '[hidden 2]' }, reference: 'till [hidden 1]' })
    names.clear()
    expect(names.nameOf(token)).toMatch(/^\[hidden (?!1])\d+]$/)
  })

  it('text of a program that looks like the name of a secret stands for no secret', () => {
    const names = new SecretNumbers()
    const token = 'sop_H2vnBHm8qRswhqyGP9YwWaViK5H3pi3nHPiJ'
    const parts = call(redeem, {
      rawHeaders: ['authorization', `Bearer ${token}`],
      body: json({ credential: { type: 'qr_token', value: ' VQ1-x ' }, reference: '[hidden 1] [hidden of app_1]' }),
      responseBody: success({ note: 'other' }),
    })
    const { request } = exchangeOf(parts, (secret) => names.nameOf(secret))
    expect(request.headers).toEqual([['authorization', '[hidden 1]']])
    const sent = JSON.parse(Buffer.from(request.body ?? '', 'base64').toString())
    expect(sent.reference).toMatch(/^\[hidden [2-9]] \[hidden [2-9]]$/)
    expect(names.nameOf('VQ1-x')).toBe(sent.credential.value)
  })

  it('the secret that was named first loses its name beyond 10,000 secrets', () => {
    const names = new SecretNumbers()
    for (let n = 1; n <= 10_001; n += 1) expect(names.nameOf(`secret-${n}`)).toBe(`[hidden ${n}]`)
    expect(names.nameOf('secret-10001')).toBe('[hidden 10001]')
    expect(names.nameOf('secret-1')).toBe('[hidden 10002]')
  })
})
