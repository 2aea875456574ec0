import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageClient } from '../support/page/client.js'
import { rawResponse } from '../support/server/raw.js'
import { type LiveServer, liveServer } from '../support/server/server.js'

let server: LiveServer
/** Token of a page's session. */
let token: string
beforeAll(async () => {
  server = await liveServer()
  const headers = { authorization: `Bearer ${server.operatorKey}` }
  const link = await fetch(`${server.baseUrl}/_platform/v1/page-tickets`, { method: 'POST', headers })
  const { data } = (await link.json()) as { data: { url: string } }
  token = (await pageClient(data.url)).token
})
afterAll(() => server.close())

/** Header lines of a request, and the failure code with which the server refuses them; undefined for right ones. */
type Option = readonly [lines: readonly string[], code?: string]

const hosts = (): Option[] => [
  [[`Host: 127.0.0.1:${server.port}`]],
  [[`Host: evil.example:${server.port}`], 'HOST_NOT_ALLOWED'],
  // Resolves to 127.0.0.1, as the name of a rebinding attack does.
  [[`Host: 127.0.0.1.nip.io:${server.port}`], 'HOST_NOT_ALLOWED'],
  [[`Host: 127.0.0.1:${server.port - 1}`], 'HOST_NOT_ALLOWED'],
  [['Host: 127.0.0.1'], 'HOST_NOT_ALLOWED'],
  [[`Host: 127.0.0.1:${server.port}`, `Host: evil.example:${server.port}`], 'HOST_NOT_ALLOWED'],
]
const origins = (): Option[] => [
  [[`Origin: ${server.baseUrl}`]],
  [[`Origin: http://evil.example:${server.port}`], 'CROSS_SITE_REQUEST'],
  [['Origin: null'], 'CROSS_SITE_REQUEST'],
  [['Origin: http://127.0.0.1:3000'], 'CROSS_SITE_REQUEST'],
]
const noOrigin: Option = [[], 'CROSS_SITE_REQUEST']
const noSite: Option = [[], 'CROSS_SITE_REQUEST']
const sites: readonly Option[] = [
  [['Sec-Fetch-Site: same-origin']],
  [['Sec-Fetch-Site: same-site'], 'CROSS_SITE_REQUEST'],
  [['Sec-Fetch-Site: cross-site'], 'CROSS_SITE_REQUEST'],
  noSite,
]
const noToken: Option = [[], 'TOKEN_MISSING']
const tokens = (): Option[] => [
  [[`Page-Token: ${token}`]],
  [[`Page-Token: ${'A'.repeat(43)}`], 'PAGE_SESSION_REQUIRED'],
  [[`Page-Token: ${token}`, `Page-Token: ${token}`], 'PAGE_SESSION_REQUIRED'],
  // As a page of an earlier version, or another port of this host, may set it.
  [[`Cookie: voucherctl_page_${server.port}=${token}; page-token=${token}`], 'TOKEN_MISSING'],
  noToken,
]

const combinations = (...columns: readonly (readonly Option[])[]): Option[][] =>
  columns.reduce<Option[][]>((rows, options) => rows.flatMap((row) => options.map((it) => [...row, it])), [[]])

const isOfPage = ([lines]: Option) => lines[0]?.startsWith('Page-Token:') === true

/** Code of the first column that is not right. Without a token of a page, it may leave out the headers. */
function expectedCode(row: readonly Option[]): string | undefined {
  const fromPage = row.some(isOfPage)
  const wrong = row.filter(([, code]) => code !== undefined)
  return (fromPage ? wrong : wrong.filter((it) => it !== noOrigin && it !== noSite))[0]?.[1]
}

async function codeOf(
  method: string,
  target: string,
  row: readonly Option[],
  body: string,
): Promise<string | undefined> {
  const type = body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]
  const lines = [`${method} ${target} HTTP/1.1`, ...row.flatMap(([them]) => them), ...type, '', body]
  const response = await rawResponse(server.port, lines.join('\r\n'))
  return response.code ?? undefined
}

async function surprises(method: string, target: string, rows: readonly Option[][], body = ''): Promise<string[]> {
  const found: string[] = []
  for (const row of rows) {
    const code = await codeOf(method, target, row, body)
    const expected = expectedCode(row)
    if (code !== expected) found.push(`${row.flatMap(([lines]) => lines).join(', ')}: ${code}, not ${expected}`)
  }
  return found
}

const succeeding = (rows: readonly Option[][]) => rows.filter((row) => expectedCode(row) === undefined)

async function trueOffset(): Promise<number> {
  const headers = { authorization: `Bearer ${server.operatorKey}` }
  const response = await fetch(`${server.baseUrl}/_platform/v1/clock`, { headers })
  const { data } = (await response.json()) as { data: { now: string } }
  return Date.parse(data.now) - Date.now()
}

test('of 600 page changes with forged headers, only the right one is made', { tags: 'page-requests/2' }, async () => {
  const rows = combinations(hosts(), [...origins(), noOrigin], sites, tokens())
  expect([rows.length, succeeding(rows).length]).toEqual([600, 1])
  expect(await surprises('POST', '/_platform/v1/clock/advance', rows, '{"seconds":86400}')).toEqual([])
  const days = Math.round((await trueOffset()) / 86_400_000)
  expect(days).toBe(1)
})

test('of 120 page reads with forged headers, only the right one succeeds', { tags: 'page-requests/2' }, async () => {
  const rows = combinations(hosts(), sites, tokens())
  expect([rows.length, succeeding(rows).length]).toEqual([120, 1])
  expect(await surprises('GET', '/_platform/v1/reviews', rows)).toEqual([])
})

test('of 96 calls with the operator key, the four without forgery succeed', { tags: 'page-requests/1' }, async () => {
  const bearer: Option = [[`Authorization: Bearer ${server.operatorKey}`]]
  const rows = combinations(hosts(), origins().slice(0, 2), sites, [[bearer[0]]], [[[]], [[`Page-Token: ${token}`]]])
  const judged = rows.map((row) => ({ row, wrong: row.filter((it) => it[1] !== undefined && it !== noSite)[0]?.[1] }))
  expect([rows.length, judged.filter(({ wrong }) => wrong === undefined).length]).toEqual([96, 4])
  for (const { row, wrong } of judged) {
    expect([row.flat(), await codeOf('GET', '/_platform/v1/reviews', row, '')]).toEqual([row.flat(), wrong])
  }
  const plain = [hosts()[0] as Option, bearer]
  expect(await codeOf('POST', '/_platform/v1/page-tickets', plain, '')).toBeUndefined()
})
