import { expect, test } from 'vitest'
import { allowedOriginOf, refuseHost, refuseSite } from '../../src/inspector/request-origin.js'

const origin = allowedOriginOf('http://127.0.0.1:8420')
const message = (headers: readonly (readonly [string, string])[], url = '/_platform/ui/', method = 'GET') => ({
  method,
  url,
  rawHeaders: headers.flat(),
})

test.each(['127.0.0.1:8420', '[::1]:8420', 'localhost:8420', 'LOCALHOST:8420'])(
  'host check accepts the Host %s',
  { tags: 'page-requests/1' },
  (host) => {
    expect(refuseHost(origin, message([['Host', host]]))).toBeUndefined()
  },
)

test.each([
  'evil.example:8420',
  'evil.example',
  '127.0.0.1',
  '127.0.0.1:8421',
  '127.0.0.1:80',
  'localhost.:8420',
  'localhost.evil.example:8420',
  '127.0.0.2:8420',
  '0.0.0.0:8420',
  '127.1:8420',
  '2130706433:8420',
  '[::ffff:127.0.0.1]:8420',
  'user@127.0.0.1:8420',
  '127.0.0.1:8420, evil.example',
  '127.0.0.1:08420',
  '',
])('host check refuses the Host %j', { tags: 'page-requests/1' }, (host) => {
  expect(refuseHost(origin, message([['Host', host]]))).toMatchObject({ code: 'HOST_NOT_ALLOWED' })
})

test('host check refuses a missing Host, a repeated one, and a target with a host of its own', () => {
  const own = ['host', '127.0.0.1:8420'] as const
  for (const refused of [
    message([]),
    message([own, own]),
    message([own, ['HOST', 'evil.example']]),
    message([own], 'http://evil.example/_platform/ui/'),
    message([own], 'http://127.0.0.1:8420/_platform/ui/'),
    message([own], '_platform/ui/'),
  ]) {
    expect(refuseHost(origin, refused)).toMatchObject({ code: 'HOST_NOT_ALLOWED' })
  }
})

test('host check accepts the bound address, and a name without the default port', { tags: 'page-requests/1' }, () => {
  expect(refuseHost(allowedOriginOf('http://127.0.0.2:9000'), message([['Host', '127.0.0.2:9000']]))).toBeUndefined()
  expect(refuseHost(allowedOriginOf('http://[::1]:9000'), message([['Host', '[::1]:9000']]))).toBeUndefined()
  const onDefaultPort = allowedOriginOf('http://127.0.0.1:80')
  expect(refuseHost(onDefaultPort, message([['Host', 'localhost']]))).toBeUndefined()
  expect(refuseHost(onDefaultPort, message([['Host', 'localhost:80']]))).toBeUndefined()
})

const own = 'http://127.0.0.1:8420'
const site = 'same-origin'

test.each([
  ['GET', true, [], [site], undefined],
  ['GET', true, [], ['none'], undefined],
  ['GET', true, [own], [site], undefined],
  ['POST', true, [own], [site], undefined],
  ['GET', true, [], [], 'Sec-Fetch-Site'],
  ['GET', true, [], ['cross-site'], 'Sec-Fetch-Site'],
  ['GET', true, [], ['same-site'], 'Sec-Fetch-Site'],
  ['GET', true, [], ['Same-Origin'], 'Sec-Fetch-Site'],
  ['GET', true, [], [site, 'none'], 'Sec-Fetch-Site'],
  ['GET', true, ['null'], [site], 'Origin'],
  ['GET', true, ['http://localhost:8420'], [site], 'Origin'],
  ['GET', true, ['https://127.0.0.1:8420'], [site], 'Origin'],
  ['GET', true, [`${own}/`], [site], 'Origin'],
  ['POST', true, [], [site], 'Origin'],
  ['HEAD', true, [], [site], 'Origin'],
  ['POST', true, [own, own], [site], 'Origin'],
  ['POST', true, ['http://evil.example'], [site], 'Origin'],
  ['POST', true, [own], [], 'Sec-Fetch-Site'],
  ['GET', false, [], [], undefined],
  ['POST', false, [], [], undefined],
  ['POST', false, [own], [site], undefined],
  ['POST', false, ['http://evil.example'], [], 'Origin'],
  ['GET', false, ['null'], [], 'Origin'],
  ['GET', false, [], ['cross-site'], 'Sec-Fetch-Site'],
] as const)(
  'site check decides on %s (of a page: %s) with Origin %j and Sec-Fetch-Site %j',
  { tags: ['page-requests/1', 'page-requests/2'] },
  (method, fromPage, origins, sites, refused) => {
    const headers = [
      ...origins.map((it) => ['Origin', it] as const),
      ...sites.map((it) => ['Sec-Fetch-Site', it] as const),
    ]
    const refusal = refuseSite(origin, message(headers, '/_platform/ui/', method), fromPage)
    expect(refusal?.details?.header).toBe(refused)
  },
)
