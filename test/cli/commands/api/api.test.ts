import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { knownRoutes } from '../../../../src/cli/command/known-routes.js'
import { leavesOfEntries } from '../../../../src/cli/command/tree.js'
import { commandsByRoute } from '../../../../src/cli/commands/api/routes.js'
import { entries } from '../../../../src/cli/program.js'
import { endpoints } from '../../../../src/contract/index.js'
import { productionEnv } from '../../../support/cli/bulk.js'
import { cli, redeemCode, refusal, secrets, stub, success, temporaryDir } from '../../../support/cli/cli.js'
import { leafCalls } from '../../../support/cli/samples.js'
import { type CliServer, cliServer } from '../../../support/cli/server.js'
import { recordingProxy } from '../../../support/conform/recording-proxy.js'
import { listen } from '../../../support/listen.js'

let server: CliServer
let env: CliServer['env']
beforeAll(async () => {
  server = await cliServer()
  env = server.env
})
afterAll(() => server.close())

/** Starts a server that sends the same response to every request. */
async function plainServer(status: number, headers: Record<string, string>, body: string | Uint8Array) {
  const plain = createServer((_request, response) => response.writeHead(status, headers).end(body))
  return `http://127.0.0.1:${await listen(plain)}`
}

/** Runs a command line and returns the request that the stub received. */
async function sentBy(args: readonly string[], given: Parameters<typeof cli>[1] = {}) {
  const { baseUrl, received } = await stub(() => success({}))
  const ran = await cli([...args, '--base-url', baseUrl], { env: secrets, ...given })
  return { ran, sent: received[0] }
}

describe('api METHOD PATH', () => {
  test('api sends the credential that the route requires and prints the data as JSON', { tags: 'api/1' }, async () => {
    const templates = await cli('api GET /open-platform/vouchers/templates?limit=1', { env })
    expect([templates.exit, templates.stderr]).toEqual([0, ''])
    expect(JSON.parse(templates.stdout)).toMatchObject({ items: [{ id: 'tpl_coffee' }], pagination: { limit: 1 } })
    const apps = await cli('api get open-platform/applications', { env })
    expect(JSON.parse(apps.stdout).items[0].id).toBe('app_shop')
    const reviews = await cli('api GET /_platform/v1/reviews -o yaml', { env })
    expect([reviews.exit, reviews.stdout]).toEqual([0, 'items: []\n'])
  })

  test('api applies --output and --fields like every command', async () => {
    const ran = await cli('api GET /open-platform/applications -o csv --fields id', { env })
    expect(ran.stdout).toBe('id\napp_shop\n')
    const table = await cli('api GET /open-platform/applications -o table', { env })
    expect(table.stdout).toContain('ALLOWED ORIGINS')
  })

  test('api applies --jq to data, -i output and --curl output, and --fields refuses unknown names', async () => {
    const apps = 'api GET /open-platform/applications'
    const id = await cli([...apps.split(' '), '--jq', '.items[0].id'], { env })
    expect([id.exit, id.stdout]).toEqual([0, 'app_shop\n'])
    const status = await cli([...apps.split(' '), '-i', '--jq', '.status'], { env })
    expect([status.exit, status.stdout]).toEqual([0, '200\n'])
    const curl = await cli([...apps.split(' '), '--curl', '--jq', '.variables[0].name'], { env })
    expect([curl.exit, curl.stdout]).toEqual([0, 'VOUCHERCTL_JWT\n'])
    const wrong = await cli(`${apps} --fields colour`, { env })
    expect([wrong.exit, wrong.stdout]).toEqual([2, ''])
    expect(wrong.stderr).toContain('colour')
  })

  test('api --all reads every page of a list and with --secure required opens only one session', async () => {
    const { baseUrl, received } = await stub(({ path }) => {
      const page = Number(new URL(path, 'http://x').searchParams.get('page'))
      return success({ items: [{ id: page }], pagination: { page, limit: 100, total: 3, pages: 3 } })
    })
    const ran = await cli(`api GET /open-platform/applications?status=active --all --base-url ${baseUrl}`, {
      env: secrets,
    })
    expect([ran.exit, ran.stderr]).toEqual([0, ''])
    expect(JSON.parse(ran.stdout).items).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
    expect(received.map((it) => it.path)).toEqual(
      [1, 2, 3].map((page) => `/api/v1/open-platform/applications?status=active&page=${page}&limit=100`),
    )
    const proxy = await recordingProxy(server.baseUrl)
    const given = { env: { ...env, VOUCHERCTL_BASE_URL: proxy.baseUrl } }
    expect((await cli('api GET /open-platform/applications --all --secure required', given)).exit).toBe(0)
    expect(proxy.requests.filter((it) => it.endsWith('/session'))).toHaveLength(1)
    for (const args of [
      'POST /open-platform/applications',
      'GET /x?page=1 --as jwt',
      'GET /healthz -i',
      'GET /healthz --curl',
    ])
      expect([args, (await cli(`api ${args} --all`, { env })).exit]).toEqual([args, 2])
  })

  test.each([
    ['/open-platform/x', '/api/v1/open-platform/x'],
    ['open-platform/x', '/api/v1/open-platform/x'],
    ['/api/v1/x', '/api/v1/x'],
    ['api/v1/x', '/api/v1/x'],
    ['/_platform/v1/x', '/_platform/v1/x'],
    ['/healthz', '/healthz'],
    ['/readyz', '/readyz'],
    ['/metrics', '/metrics'],
    ['/healthzz', '/api/v1/healthzz'],
    ['/a b/ü?q=[1]"', '/api/v1/a%20b/%C3%BC?q=%5B1%5D%22'],
    ['/a%20b', '/api/v1/a%20b'],
    ['/a/../b', '/api/v1/a/../b'],
  ])('api GET %s requests the path %s', { tags: 'api/1' }, async (typed, path) => {
    const { sent } = await sentBy(['api', 'GET', typed, '--as', 'none'])
    expect(sent?.path).toBe(path)
  })

  test.each([
    ['api', 3, 'METHOD, PATH'],
    ['api GET', 3, 'PATH'],
    ['api HEAD /x', 2, 'METHOD must be one of'],
    ['api GET https://other.example/x', 2, '--base-url'],
    ['api GET //other.example/x', 2, '--base-url'],
    ['api GET /x#y', 2, '%23'],
    ['api GET /nothing/here', 2, '--as'],
    ['api GET /healthz --input x.json', 2, 'A GET has no body'],
    ['api POST /open-platform/applications --input x.json -F a=b', 2, '--input and --field cannot be combined'],
    ['api POST /open-platform/applications --input nowhere.json', 2, 'nowhere.json'],
    ['api POST /open-platform/applications -F a', 2, 'NAME=VALUE'],
    ['api POST /open-platform/applications -F a=@nowhere.txt', 2, 'nowhere.txt'],
    ['api POST /open-platform/applications -F a=@- -F b=@-', 2, 'stdin'],
    ['api POST /open-platform/applications -F a=@- --token-file -', 2, 'stdin'],
    ['api POST /open-platform/applications -F a=1 -F a=2', 2, 'does not fit'],
    ['api POST /open-platform/applications -F a=1 -F a.b=2', 2, 'does not fit'],
    ['api POST /open-platform/applications -F a]=1', 2, 'not a member name'],
    ['api POST /open-platform/applications -F n=9007199254740993', 2, 'loses digits'],
    ['api POST /open-platform/applications -F n=0.12345678901234567', 2, 'loses digits'],
  ])('the command %s exits %i with the message "%s" and sends nothing', { tags: 'api/1' }, async (args, exit, says) => {
    const { ran, sent } = await sentBy(args.split(' '))
    expect([ran.exit, ran.stdout, sent]).toEqual([exit, '', undefined])
    expect(ran.stderr).toContain(says)
  })

  test('for an unknown path, api sends the credential that --as names, and none with --as none', async () => {
    for (const [kind, secret] of [
      ['token', secrets.VOUCHERCTL_TOKEN],
      ['bot', secrets.VOUCHERCTL_BOT_TOKEN],
      ['jwt', secrets.VOUCHERCTL_JWT],
      ['operator', secrets.VOUCHERCTL_OPERATOR_KEY],
    ]) {
      const { sent } = await sentBy(['api', 'POST', '/unknown', '--as', kind as string])
      expect(sent?.headers.authorization).toBe(`Bearer ${secret}`)
    }
    const { sent } = await sentBy(['api', 'GET', '/open-platform/applications', '--as', 'none'], { env: {} })
    expect(sent).toBeDefined()
    expect(sent?.headers.authorization).toBeUndefined()
  })

  test('api sends an Idempotency-Key where the route accepts one', async () => {
    const { credential } = await server.issue()
    const redeem = ['api', 'POST', '/open-platform/vouchers/redeem', '--input', '-', '--idempotency-key', 'again']
    const given = { env, stdin: JSON.stringify({ credential }) }
    const first = await cli(redeem, given)
    const second = await cli(redeem, given)
    expect(JSON.parse(second.stdout).id).toBe(JSON.parse(first.stdout).id)
    const { sent } = await sentBy(['api', 'POST', '/open-platform/vouchers/redeem', '-F', 'a=b'])
    expect(sent?.headers['idempotency-key']).toBe('key-1')
    const other = await sentBy(['api', 'POST', '/open-platform/applications', '-F', 'name=b'])
    expect(other.sent?.headers['idempotency-key']).toBeUndefined()
  })

  test('after a 500, api retries only reads and requests to routes that accept an idempotency key', async () => {
    const tries = async (args: string) => {
      const { baseUrl, received } = await stub(() => refusal(500, 'INTERNAL_ERROR'))
      const ran = await cli(`api ${args} --retries 1 --base-url ${baseUrl}`, { env: secrets })
      expect(ran.exit).toBe(9)
      return received.length
    }
    expect(await tries('GET /open-platform/applications')).toBe(2)
    expect(await tries('POST /open-platform/vouchers/verify -F a=b')).toBe(2)
    expect(await tries('POST /open-platform/vouchers/redeem -F a=b')).toBe(2)
    expect(await tries('POST /open-platform/applications -F name=b --idempotency-key k')).toBe(1)
    expect(await tries('POST /unknown --as jwt --idempotency-key k')).toBe(1)
  })

  test('api exits 5 for a 404 and prints only the error object', async () => {
    const ran = await cli('api GET /open-platform/applications/app_nothing --json', { env })
    expect([ran.exit, ran.stdout]).toEqual([5, ''])
    expect(JSON.parse(ran.stderr).error).toMatchObject({ code: 'APPLICATION_NOT_FOUND', status: 404 })
    const wrong = await cli('api GET /open-platform/applications --as token --json', { env })
    expect([wrong.exit, JSON.parse(wrong.stderr).error.code]).toEqual([4, 'TOKEN_TYPE_NOT_ACCEPTED'])
  })

  test('api --dry-run sends nothing and prints the request without secrets and redeem codes', async () => {
    const stdin = JSON.stringify({ credential: { type: 'redeem_code', value: redeemCode } })
    const { ran, sent } = await sentBy('api POST /open-platform/vouchers/redeem --input - -n --json'.split(' '), {
      stdin,
    })
    expect([ran.exit, sent]).toEqual([0, undefined])
    expect(JSON.parse(ran.stdout).requests[0].body.credential.value).toBe('…T4FJ')
    expect(ran.stdout).not.toContain('CANARY')
  })

  test('api --dry-run and --curl hide the URL of a webhook, --curl also inside of another member', async () => {
    const call = 'api POST /bots/setWebhook --input - --base-url http://127.0.0.1:9'
    const given = (body: object) => ({ env: secrets, stdin: JSON.stringify(body) })
    const planned = await cli(`${call} -n --json`, given({ url: 'https://a.example/hidden' }))
    expect(JSON.parse(planned.stdout).requests[0].body.url).toBe('https://a.example/…')
    const curl = await cli(
      `${call} --curl`,
      given({ url: 'https://a.example/x', webhook: { url: 'https://b.example/y' } }),
    )
    expect(curl.stdout).toMatch(/WEBHOOK_URL:.*WEBHOOK_URL_2:/)
    expect(curl.stdout).not.toContain('.example')
  })

  test('api asks for confirmation before it revokes or replaces a token on a production server', async () => {
    const { baseUrl, received } = await stub(() => success({}))
    const env = productionEnv(baseUrl)
    for (const call of [
      'DELETE /open-platform/applications/app_1/tokens/tok_1',
      'POST /bots/my/bot_1/regenerate-token',
    ]) {
      const refused = await cli(`api ${call}`, { env })
      expect([refused.exit, refused.stderr.includes('--yes'), received.length]).toEqual([3, true, 0])
    }
    await cli('api DELETE /open-platform/applications/app_1/tokens/tok_1 --yes', { env })
    expect(received.length).toBe(1)
  })
})

describe('api -F and -f', () => {
  const bodyOf = async (...fields: string[]) => {
    const { ran, sent } = await sentBy(['api', 'POST', '/open-platform/applications', ...fields])
    expect(ran.stderr).toBe('')
    return sent?.body
  }

  test('api -F converts numbers, true, false and null; other values, and all of -f, stay strings', async () => {
    expect(await bodyOf('-F', 'a=1', '-F', 'b=-2.50', '-F', 'c=true', '-F', 'd=false', '-F', 'e=null')).toEqual({
      a: 1,
      b: -2.5,
      c: true,
      d: false,
      e: null,
    })
    expect(await bodyOf('-F', 'a=01', '-F', 'b=1.', '-F', 'c=', '-F', 'd=x=y', '-F', 'e=True', '-f', 'f=1')).toEqual({
      a: '01',
      b: '1.',
      c: '',
      d: 'x=y',
      e: 'True',
      f: '1',
    })
    expect(await bodyOf('-f', 'a=@nowhere', '--raw-field', 'b=null', '--field', 'c=9007199254740991')).toEqual({
      a: '@nowhere',
      b: 'null',
      c: 9007199254740991,
    })
  })

  test('api -F NAME=@FILE and NAME=@- read a file or stdin and remove the last line end', async () => {
    const cwd = temporaryDir()
    writeFileSync(join(cwd, 'text.txt'), '12\n\n')
    const args = ['api', 'POST', '/open-platform/applications', '-F', 'a=@text.txt', '-F', 'b=@-']
    const { sent } = await sentBy(args, { cwd, stdin: 'x\r\n' })
    expect(sent?.body).toEqual({ a: '12\n', b: 'x' })
  })

  test('dots and brackets in a name of api -F create nested objects, and [] creates a list', async () => {
    expect(await bodyOf('-F', 'a.b=1', '-F', 'a[c.d]=2', '-F', 'a[e][f]=3')).toEqual({
      a: { b: 1, 'c.d': 2, e: { f: 3 } },
    })
    expect(await bodyOf('-F', 'a[]=x', '-F', 'a[]=y', '-F', 'b[]', '-F', '__proto__.x=1')).toEqual(
      JSON.parse('{"a":["x","y"],"b":[],"__proto__":{"x":1}}'),
    )
    const links = ['links[][title]=A', 'links[][url]=B', 'links[][title]=C', 'links[][url]=D']
    expect(await bodyOf(...links.flatMap((it) => ['-F', it]))).toEqual({
      links: [
        { title: 'A', url: 'B' },
        { title: 'C', url: 'D' },
      ],
    })
  })

  test('api GET sends the values of -F and -f as query parameters, after those in the path', async () => {
    const args = ['api', 'GET', '/open-platform/applications?page=2', '-F', 'limit=5', '-f', 'q=a b&c']
    expect((await sentBy(args)).sent?.path).toBe('/api/v1/open-platform/applications?page=2&limit=5&q=a+b%26c')
  })

  test.each([`secret_token=abc`, `a.secret_token=abc`, `a[secret_token]=abc`, `a=${secrets.VOUCHERCTL_TOKEN}`])(
    'api refuses the field %s, because it holds a secret, and suggests =@FILE',
    { tags: 'api/1' },
    async (field) => {
      for (const flag of ['-F', '-f']) {
        const { ran, sent } = await sentBy(['api', 'POST', '/bots/setWebhook', flag, field])
        expect([ran.exit, sent]).toEqual([2, undefined])
        expect(ran.stderr).toContain('=@FILE')
        expect(ran.stderr).not.toContain('CANARY')
      }
    },
  )
})

describe('api -i', () => {
  test('api -i prints the status line, the headers and the whole body', async () => {
    const ran = await cli('api GET /healthz -i', { env })
    const [head = '', body = ''] = ran.stdout.split('\n\n')
    expect([ran.exit, ran.stderr]).toEqual([0, ''])
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\n/)
    expect(head).toContain('\ncontent-type: application/json; charset=utf-8\n')
    expect(JSON.parse(body)).toMatchObject({ success: true, data: { status: 'ok' } })
  })

  test('api -i prints an error response and exits 5 for a 404; with --json it prints one document', async () => {
    const ran = await cli('api GET /open-platform/applications/app_nothing -i', { env })
    expect([ran.exit, ran.stderr]).toEqual([5, ''])
    expect(ran.stdout).toMatch(/^HTTP\/1\.1 404 Not Found\n[^]+APPLICATION_NOT_FOUND/)
    const json = await cli('api GET /open-platform/applications/app_nothing -i --json', { env })
    expect([json.exit, json.stderr]).toEqual([5, ''])
    expect(JSON.parse(json.stdout)).toMatchObject({
      status: 404,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: { success: false, code: 'APPLICATION_NOT_FOUND' },
    })
  })

  test('api -i exits 9 if the server sends no response', async () => {
    const ran = await cli('api GET /healthz -i --retries 0 --base-url http://127.0.0.1:9', {})
    expect([ran.exit, ran.stdout]).toEqual([9, ''])
  })

  test('api -i prints a binary body unchanged in a pipe and without control bytes on a terminal', async () => {
    const bytes = Uint8Array.from([0, 255, 254, 27, 91, 109, 10])
    const baseUrl = await plainServer(200, { 'content-type': 'application/octet-stream' }, bytes)
    const args = `api GET /file --as none -i --base-url ${baseUrl}`
    const ran = await cli(args)
    expect(ran.exit).toBe(9)
    expect([...Buffer.from(ran.stdout.slice(ran.stdout.indexOf('\n\n') + 2), 'latin1')]).toEqual([...bytes])
    const shown = await cli(args, { terminal: true })
    expect(shown.stdout).not.toMatch(/[\u0000\u001b]/)
  })

  test('api -i hides the credential that it sent if the response repeats it', { tags: 'hidden-values/1' }, async () => {
    const { baseUrl } = await stub(({ headers }) => ({
      status: 400,
      headers: { 'x-saw': String(headers.authorization) },
      body: { saw: headers.authorization },
    }))
    for (const more of ['', ' --json']) {
      const ran = await cli(`api GET /open-platform/applications -i --base-url ${baseUrl}${more}`, { env: secrets })
      expect(ran.stdout).toContain('[credential]')
      expect(ran.stdout).not.toContain('CANARY')
    }
  })
})

describe('api with responses that are not JSON', () => {
  test('api exits 9 for a text response, names its content type and suggests -i', async () => {
    const ran = await cli('api GET /metrics', { env })
    expect([ran.exit, ran.stdout]).toEqual([9, ''])
    expect(ran.stderr).toContain('text/plain')
    expect(ran.stderr).toContain('-i')
    const shown = await cli('api GET /metrics -i', { env })
    expect([shown.exit, shown.stderr]).toEqual([0, ''])
    expect(shown.stdout).toContain('# HELP')
  })

  test('api warns that a mutation may have succeeded if its response is HTML', async () => {
    const baseUrl = await plainServer(200, { 'content-type': 'text/html' }, '<html>')
    const ran = await cli(`api POST /x --as none --base-url ${baseUrl}`)
    expect(ran.exit).toBe(9)
    expect(ran.stderr).toContain('Not a response of a voucher service (status 200): <html>')
    expect(ran.stderr).toContain('may have been done')
  })

  test('api exits 9 for a 204 without a body', async () => {
    const baseUrl = await plainServer(204, {}, '')
    const ran = await cli(`api DELETE /x --as none --base-url ${baseUrl}`)
    expect([ran.exit, ran.stdout]).toEqual([9, ''])
  })

  test('api prints an NDJSON response as one document per line', async () => {
    const ran = await cli('api GET /_platform/v1/requests', { env })
    expect(ran.exit).toBe(0)
    const lines = ran.stdout.trimEnd().split('\n')
    expect(lines.length).toBeGreaterThan(1)
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('request_id')
  })
})

describe('api --secure', () => {
  test('api --secure required encrypts requests to /api/v1 only', { tags: 'encrypted-transport/1' }, async () => {
    const proxy = await recordingProxy(server.baseUrl)
    const given = { env: { ...env, VOUCHERCTL_BASE_URL: proxy.baseUrl } }
    const list = await cli('api GET /open-platform/vouchers/templates?limit=1 --secure required', given)
    expect(JSON.parse(list.stdout).pagination.limit).toBe(1)
    expect(proxy.requests.at(-1)).toBe('POST /api/v1/secure/dispatch')
    expect(proxy.sent()).not.toContain(server.token)
    for (const path of ['/healthz', '/_platform/v1/reviews', '/api/v1/secure/bootstrap']) {
      const plain = await cli(`api GET ${path} --secure required`, given)
      expect([path, plain.exit]).toEqual([path, 0])
      expect(proxy.requests.at(-1)).toBe(`GET ${path}`)
    }
    const missing = await cli('api GET /open-platform/vouchers/redemptions/x --secure required -i', given)
    expect([missing.exit, missing.stdout.split('\n')[0]]).toEqual([5, 'HTTP/1.1 404 Not Found'])
  })
})

describe('api routes', () => {
  const list = async (args = '') => JSON.parse((await cli(`api routes ${args} --json`)).stdout).items

  test('api routes lists every endpoint with the required credential and scope, without a server', async () => {
    const items = await list()
    for (const { id, method, path, caller, scope = null } of endpoints)
      expect(items).toContainEqual(expect.objectContaining({ id, method, path, credential: caller, scope }))
    expect(items).toHaveLength((await knownRoutes()).length)
    expect(items.find((it: { id: string }) => it.id === 'vouchers.redeem').idempotency_key).toBe('required')
  })

  test('api routes WORD lists the routes that contain the word in any column', async () => {
    for (const word of ['vouchers:redeem', 'DELETE', 'operator', 'link-bot', 'QUARANTINE']) {
      const items = await list(word)
      for (const it of items) expect(Object.values(it).join(' ').toLowerCase()).toContain(word.toLowerCase())
      expect(items.length > 0).toBe(word !== 'QUARANTINE')
    }
  })

  test('api routes prints whole paths within 80 columns', async () => {
    const ran = await cli('api routes', { terminal: true, columns: 80 })
    const lines = ran.stdout.split('\n')
    for (const { path } of endpoints) expect(lines.some((line) => line.endsWith(path))).toBe(true)
    expect(lines.filter((line) => line.length > 80)).toEqual([])
  })

  test('the command that api routes prints for a route sends a request to that route', async () => {
    const leaves = await leavesOfEntries(entries)
    const names = leaves.map(([path]) => path.join(' '))
    const commands = commandsByRoute(leaves)
    const routes = await knownRoutes()
    const forPage = [
      'bot',
      'callAsAccount',
      'callAsApp',
      'callAsBot',
      'chat',
      'overview',
      'reference',
      'seedStore',
      'showCredentials',
    ].map((it) => `platform.${it}`)
    const withoutCommand = ['health.metrics', ...forPage, 'webhook.setByBot']
    const missing = routes.map((it) => it.id).filter((id) => !commands.has(id))
    expect(missing.sort()).toEqual(withoutCommand)
    expect([...commands.keys()].filter((id) => !routes.some((it) => it.id === id))).toEqual([])
    for (const { id, method, path } of routes) {
      const command = commands.get(id)
      if (command === undefined) continue
      const name = command.replace(/ --.*$/, '')
      expect(names).toContain(name)
      const sample = leafCalls[name]
      if (sample === undefined || command !== name) continue
      const { baseUrl, received } = await stub(() => success(sample.data))
      await cli(`${name} ${sample.args} --base-url ${baseUrl}`, { env: secrets })
      const pattern = new RegExp(`^${path.replaceAll(/:[A-Za-z]+/g, '[^/]+')}(?:\\?|$)`)
      expect(
        received.some((it) => it.method === method && pattern.test(it.path)),
        `${id}: ${command}`,
      ).toBe(true)
    }
  })
})
