import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type http from 'node:http'
import https from 'node:https'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { contract } from '../../../../src/contract/index.js'
import { REPLAY_BYTES_MAX } from '../../../../src/contract/platform/deliveries.js'
import { paths } from '../../../../src/secure/index.js'
import { built, firstLine } from '../../../support/cli/built-cli.js'
import { temporaryDir } from '../../../support/cli/cli.js'
import { fileOfGuide } from '../../../support/guide-files.js'
import { type Nginx, startNginx } from '../../../support/nginx.js'
import { newAuthority } from '../../../support/secure/certificates.js'
import { newChat, pollOf, say } from '../../../support/server/chats.js'
import { sendTo } from '../../../support/server/client.js'
import { until } from '../../../support/server/deliveries.js'
import { temporaryFolder } from '../../../support/server/server.js'
import { newTenant, type Tenant } from '../../../support/server/tenant.js'
import { findProgram, noProgram } from '../../../support/system-programs.js'

/** Address of this machine that may call the operator API; unlike 127.0.0.1, it is no trusted proxy. */
const ADMINISTRATOR = '127.0.0.4'
const authority = newAuthority('voucherctl test authority')
const isMissing = findProgram('nginx') === undefined
const agents: http.Agent[] = []
let nginx: Nginx
let server: ReturnType<typeof built.start>
let ready: { base_url: string; operator_key_file: string }
let tenant: Tenant

/** Sends requests to nginx from an address of this machine. */
function from(localAddress: string) {
  const agent = new https.Agent({ ca: authority.cert, localAddress })
  agents.push(agent)
  return sendTo(`https://127.0.0.1:${nginx.port}`, agent)
}

beforeAll(async () => {
  if (isMissing) return
  const folder = temporaryFolder()
  const args = ['server', 'start', '--port', '0', '--memory', '--json', '--trusted-proxy', '127.0.0.1']
  args.push('--rate-limit', 'auth_failures=5/60')
  server = built.start([...args, '--log-level', 'silent'], folder)
  ready = JSON.parse(await firstLine(server))
  nginx = await startNginx(Number(new URL(ready.base_url).port), authority.issue(['127.0.0.1']), ADMINISTRATOR)
  tenant = await newTenant({
    send: from(ADMINISTRATOR),
    operatorKey: readFileSync(ready.operator_key_file, 'utf8').trim(),
  })
})
afterAll(async () => {
  if (isMissing) return
  for (const agent of agents) agent.destroy()
  server.kill('SIGTERM')
  await Promise.all([once(server, 'close'), nginx.remove()])
})
beforeEach(({ skip }) => skip(isMissing, noProgram('nginx')))

describe('server behind nginx with the configuration of the guide', () => {
  it('the command line calls it by https with the certificate of NODE_EXTRA_CA_CERTS', async () => {
    const home = temporaryDir()
    writeFileSync(join(home, 'ca.pem'), authority.cert)
    const env = {
      VOUCHERCTL_BASE_URL: `https://127.0.0.1:${nginx.port}`,
      VOUCHERCTL_TOKEN: tenant.token,
      NODE_EXTRA_CA_CERTS: join(home, 'ca.pem'),
    }
    const { id } = await tenant.template()
    const { exit, stderr, stdout } = await built.run(['templates', 'list', '--json'], home, env)
    expect([exit, stderr, JSON.parse(stdout).items.map((it: { id: string }) => it.id)]).toEqual([0, '', [id]])
  })

  it('limits by address count each client, whatever header it sends', { tags: 'limits-by-address/1' }, async () => {
    const open = async (address: string, forged: string) => {
      const body = JSON.stringify({ clientPublicKey: 'invalid' })
      const headers = { 'content-type': 'application/json', 'x-forwarded-for': forged }
      return (await from(address)({ method: 'POST', path: paths.session, headers, body })).status
    }
    const statuses: number[] = []
    for (let n = 0; n < 31; n++) statuses.push(await open('127.0.0.2', `198.51.100.${n}`))
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 400), 429])
    expect(await open('127.0.0.3', '198.51.100.1')).toBe(400)
  })

  it('wrong operator keys count for their client, whatever X-Forwarded-For it sends', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 6; n++) {
      const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': `198.51.100.${n}` }
      const response = await from(ADMINISTRATOR)({ method: 'GET', path: contract.platform.faults.path, headers })
      statuses.push(response.status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })

  it('nginx passes the largest body of the operator API', async () => {
    const path = contract.platform.replayDelivery.path.replace(':deliveryId', 'dlv_00000000000000000000000000')
    const body = JSON.stringify({ mode: 'resigned', body: Buffer.alloc(REPLAY_BYTES_MAX).toString('base64') })
    const authorization = `Bearer ${readFileSync(ready.operator_key_file, 'utf8').trim()}`
    const headers = { authorization, 'content-type': 'application/json' }
    expect(await from(ADMINISTRATOR)({ method: 'POST', path, headers, body })).toMatchObject({
      status: 404,
      code: 'DELIVERY_NOT_FOUND',
    })
  })

  it('a poll waits for its update, and nginx waits longer than any poll', async () => {
    const bot = await tenant.bot()
    const chat = await newChat(tenant, bot)
    const [{ update_id: last = 0 } = {}] = (await pollOf(bot)).slice(-1)
    const polling = pollOf(bot, { offset: last + 1, timeout: 50 })
    await say(tenant, chat, 'hello')
    expect(await polling).toHaveLength(1)
    const limits = [
      ...fileOfGuide('running', '/etc/nginx/conf.d/voucherctl.conf').matchAll(/proxy_read_timeout (\d+)s/g),
    ]
    const { maximum } = contract.bots.updates.body.properties.timeout as { readonly maximum?: number }
    expect(limits.map(([, seconds]) => Number(seconds) > Number(maximum))).toEqual([true])
  })

  it('metrics are for this machine, and the operator API for administrators only', async () => {
    const local = await fetch(`${ready.base_url}/metrics`)
    expect([local.status, (await local.text()).includes('voucherctl_')]).toEqual([200, true])
    const authorization = `Bearer ${readFileSync(ready.operator_key_file, 'utf8').trim()}`
    const status = async (address: string, path: string) =>
      (await from(address)({ method: 'GET', path, headers: { authorization } }).catch((error) => error)).status
    expect(await status('127.0.0.1', '/metrics')).toBe(404)
    expect(await status(ADMINISTRATOR, contract.platform.faults.path)).toBe(200)
    expect(await status('127.0.0.2', contract.platform.faults.path)).toBe(403)
    expect(await status('127.0.0.2', '/_platform/ui/')).toBe(403)
    expect(await status('127.0.0.2', '/readyz')).toBe(200)
  })

  it('lines of the activity arrive while its stream stays open', async () => {
    const authorization = `Bearer ${readFileSync(ready.operator_key_file, 'utf8').trim()}`
    const request = https.get(`https://127.0.0.1:${nginx.port}${contract.platform.activity.path}?follow=true`, {
      ca: authority.cert,
      localAddress: ADMINISTRATOR,
      headers: { authorization },
    })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    let text = ''
    response.on('data', (bytes: Buffer) => (text += bytes))
    response.on('error', () => {})
    const voucher = await tenant.issue()
    await until(() => text.includes(voucher.id))
    expect(response.complete).toBe(false)
    request.destroy()
  })
})
