import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { DeliveryWorker } from '../../src/server/delivery/worker.js'
import { startServer } from '../../src/server/listen.js'
import { closedPort } from '../support/closed-port.js'
import { RawConnection } from '../support/server/raw.js'
import { inFolder, type StandaloneServer, standaloneServer } from '../support/server/server.js'
import { codeOf, newTenant, Tenant } from '../support/server/tenant.js'

const opened: StandaloneServer[] = []
async function open(...options: Parameters<typeof standaloneServer>): Promise<StandaloneServer> {
  const server = await standaloneServer(...options)
  opened.push(server)
  return server
}
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close()
})

const modeOf = (path: string) => statSync(path).mode & 0o777

describe('server start', () => {
  it('server start makes files that only the user can read', { tags: ['data-folder/1', 'encrypted-transport/2'] }, () =>
    inFolder(async (folder) => {
      const dataDir = join(folder, 'data', 'voucherctl')
      const server = await open({ dataDir })
      expect(modeOf(dataDir)).toBe(0o700)
      const names = readdirSync(dataDir).sort()
      expect(names).toEqual(expect.arrayContaining(['keys.json', 'operator.key', 'server.json', 'voucherctl.db']))
      for (const name of names) expect([name, modeOf(join(dataDir, name))]).toEqual([name, 0o600])
      expect(JSON.parse(readFileSync(join(dataDir, 'server.json'), 'utf8'))).toMatchObject({
        pid: process.pid,
        base_url: server.baseUrl,
        data_dir: dataDir,
        operator_key_file: join(dataDir, 'operator.key'),
        store: 'sqlite',
        instance_id: ((await server.send({ method: 'GET', path: '/healthz' })).data as { instanceId: string })
          .instanceId,
      })
      const { text } = await server.send({ method: 'GET', path: '/api/v1/secure/bootstrap' })
      expect(text).toContain('"enabled":true')
      await server.close()
      expect(readdirSync(dataDir).sort()).toEqual(['keys.json', 'operator.key', 'secure-keys.json', 'voucherctl.db'])
    }),
  )

  it('server restart keeps tokens, vouchers, credential keys and the operator key', () =>
    inFolder(async (dataDir) => {
      const first = await open({ dataDir })
      const tenant = await newTenant(first)
      const voucher = await tenant.issue()
      await tenant.redeem(voucher, { key: 'K' })
      await first.close()
      const second = await open({ dataDir })
      expect(second.operatorKey).toBe(first.operatorKey)
      const again = await tenantAt(second, tenant).redeem(voucher, { key: 'K' })
      expect(again).toMatchObject({ voucherId: voucher.id, status: 'succeeded' })
      const input = {
        template_id: voucher.templateId,
        external_issue_id: voucher.externalIssueId,
        recipient_user_id: 'user-1',
      }
      const repeat = await tenantAt(second, tenant).runtime(contract.vouchers.issue, input)
      expect(repeat.data.credentials).toEqual(voucher.credentials)
    }))

  it('server with --memory deletes its folder of key files when it closes', { tags: 'data-folder/1' }, async () => {
    const server = await open()
    const { dataDir } = server.running
    expect([modeOf(dataDir), readdirSync(dataDir).sort()]).toEqual([
      0o700,
      ['keys.json', 'operator.key', 'secure-keys.json', 'server.json'],
    ])
    await server.close()
    expect(existsSync(dataDir)).toBe(false)
  })

  it('server start on a port in use is refused and leaves no server.json', () =>
    inFolder(async (folder) => {
      const other = createServer()
      const port = await closedPort()
      await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve))
      const dataDir = join(folder, 'data')
      const logTo = { write: () => {} }
      await expect(startServer({ port, dataDir, logTo })).rejects.toMatchObject({ code: 'EADDRINUSE' })
      expect(existsSync(join(dataDir, 'server.json'))).toBe(false)
      await new Promise((resolve) => other.close(resolve))
      await open({ dataDir, port })
    }))

  it('start on a data folder in use is refused and does not affect the running server', { tags: 'data-folder/1' }, () =>
    inFolder(async (dataDir) => {
      const first = await open({ dataDir })
      const file = readFileSync(join(dataDir, 'server.json'), 'utf8')
      await expect(startServer({ port: 0, dataDir, logTo: { write: () => {} } })).rejects.toMatchObject({
        code: 'DATA_FOLDER_IN_USE',
      })
      expect(readFileSync(join(dataDir, 'server.json'), 'utf8')).toBe(file)
      const tenant = await newTenant(first)
      expect((await tenant.issue()).status).toBe('issued')
    }),
  )

  it('server with the operator API switched off has neither its routes nor its key file', async () => {
    const server = await open({ operator: false })
    expect(server.running.operatorKeyFile).toBeNull()
    expect(readdirSync(server.running.dataDir)).not.toContain('operator.key')
    expect((await server.send({ method: 'GET', path: '/_platform/v1/clock' })).code).toBe('ROUTE_NOT_FOUND')
  })
})

describe('key files', () => {
  const lost = (dataDir: string) => startServer({ port: 0, dataDir, logTo: { write: () => {} } })

  it('server start with missing or wrong credential keys is refused until the keys are restored', () =>
    inFolder(async (dataDir) => {
      const path = join(dataDir, 'keys.json')
      await (await open({ dataDir })).close()
      const right = readFileSync(path, 'utf8')

      writeFileSync(path, '')
      await expect(lost(dataDir)).rejects.toMatchObject({ code: 'KEYS_UNUSABLE' })
      const other = JSON.parse(right) as { credential_keys: { id: string; derive: string }[]; account_key: string }
      other.credential_keys[0] = { ...other.credential_keys[0], derive: other.account_key } as never
      writeFileSync(path, JSON.stringify(other))
      await expect(lost(dataDir)).rejects.toMatchObject({ code: 'KEYS_UNUSABLE' })

      writeFileSync(path, right)
      await (await open({ dataDir })).close()
    }))

  it('vouchers stay valid after another credential key becomes current', () =>
    inFolder(async (dataDir) => {
      const path = join(dataDir, 'keys.json')
      const first = await open({ dataDir })
      const tenant = await newTenant(first)
      const { id } = await tenant.template()
      const before = await tenant.issue(id)
      await first.close()
      const file = JSON.parse(readFileSync(path, 'utf8')) as { credential_keys: { derive: string; index: string }[] }
      const { derive, index } = file.credential_keys[0] as { derive: string; index: string }
      const added = { id: 'key_added', derive: index, index: derive }
      writeFileSync(
        path,
        JSON.stringify({ ...file, current: 'key_added', credential_keys: [...file.credential_keys, added] }),
      )
      const second = await open({ dataDir })
      const there = tenantAt(second, tenant)
      const input = { template_id: id, external_issue_id: before.externalIssueId, recipient_user_id: 'user-1' }
      expect((await there.runtime(contract.vouchers.issue, input)).data.credentials).toEqual(before.credentials)
      for (const voucher of [before, await there.issue(id)]) {
        const verified = await there.runtime(contract.vouchers.verify, { credential: codeOf(voucher, 'qr_token') })
        expect(verified.data.voucher.id).toBe(voucher.id)
        expect((await there.redeem(voucher)).voucherId).toBe(voucher.id)
      }
    }))

  it('server start is refused if the operator key file contains no key', () =>
    inFolder(async (dataDir) => {
      await (await open({ dataDir })).close()
      for (const text of ['', 'opk_short\n']) {
        writeFileSync(join(dataDir, 'operator.key'), text)
        await expect(lost(dataDir)).rejects.toMatchObject({ code: 'KEYS_UNUSABLE' })
      }
    }))

  it('server start creates no new key file for a database whose key file is missing', () =>
    inFolder(async (dataDir) => {
      const path = join(dataDir, 'keys.json')
      await (await open({ dataDir })).close()
      const right = readFileSync(path, 'utf8')
      writeFileSync(`${path}.backup`, right)
      rmSync(path)
      await expect(lost(dataDir)).rejects.toMatchObject({ code: 'KEYS_UNUSABLE' })
      expect(existsSync(path)).toBe(false)
      writeFileSync(path, right)
      await (await open({ dataDir })).close()
    }))

  it.each([
    ['text', 'key'],
    ['another version', '{"version":2}'],
    ['no keys', '{"version":1,"current":"a","credential_keys":[],"account_key":""}'],
    ['null', 'null'],
    ['null for a key', '{"version":1,"current":"a","credential_keys":[null],"account_key":""}'],
  ])('server start is refused if the key file has %s', (_what, text) =>
    inFolder(async (dataDir) => {
      writeFileSync(join(dataDir, 'keys.json'), text)
      await expect(lost(dataDir)).rejects.toMatchObject({ code: 'KEYS_UNUSABLE' })
    }),
  )

  it('server start with --key-file requires the file and creates none in the data folder', () =>
    inFolder(async (folder) => {
      const [dataDir, keyFile] = [join(folder, 'data'), join(folder, 'keys.json')]
      mkdirSync(dataDir, { mode: 0o700 })
      await expect(startServer({ port: 0, dataDir, keyFile, logTo: { write: () => {} } })).rejects.toMatchObject({
        code: 'KEYS_UNUSABLE',
      })
      const { running, close } = await standaloneServer({ dataDir: join(folder, 'other') })
      writeFileSync(keyFile, readFileSync(join(running.dataDir, 'keys.json')))
      chmodSync(keyFile, 0o600)
      await close()
      const server = await open({ dataDir, keyFile })
      expect(readdirSync(dataDir)).not.toContain('keys.json')
      expect((await (await newTenant(server)).issue()).status).toBe('issued')
    }))
})

describe('server shutdown', () => {
  it('close() of the server completes requests, frees the port and checkpoints the database', () =>
    inFolder(async (dataDir) => {
      const server = await open({ dataDir, port: await closedPort() })
      const tenant = await newTenant(server)
      const voucher = await tenant.issue()
      await tenant.operator(contract.platform.addFault, {
        endpoint: 'vouchers.redeem',
        kind: 'delay',
        times: 1,
        delay_ms: 200,
      })
      const idle = await RawConnection.to(server.port)
      idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
      await idle.response()
      const following = await fetch(`${server.baseUrl}${contract.platform.requests.path}?follow=true`, {
        headers: { authorization: `Bearer ${server.operatorKey}` },
      })
      const inFlight = tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) }, { key: 'K' })
      await RawConnection.to(server.port).then((it) => it.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n').response())

      const closing = server.running.close()
      await idle.end()
      expect((await inFlight).status).toBe(200)
      expect((await following.text()).length).toBeGreaterThan(0)
      await closing
      await expect(RawConnection.to(server.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
      expect(readdirSync(dataDir).filter((name) => name.startsWith('voucherctl.db'))).toEqual(['voucherctl.db'])

      const again = await open({ dataDir })
      expect(await tenantAt(again, tenant).redeem(voucher, { key: 'K' })).toMatchObject({ voucherId: voucher.id })
    }))

  it('request during close() of the server gets its response', { tags: 'connections/3' }, async () => {
    const server = await open()
    const tenant = await newTenant(server)
    const voucher = await tenant.issue()
    await tenant.operator(contract.platform.addFault, {
      endpoint: 'vouchers.redeem',
      kind: 'delay',
      times: 1,
      delay_ms: 100,
    })
    const inFlight = tenant.runtime(contract.vouchers.redeem, { credential: codeOf(voucher) })
    inFlight.catch(() => {})
    const late = await RawConnection.to(server.port)
    late.write('GET /healthz HTTP/1.1\r\nHos')
    await RawConnection.to(server.port).then((it) => it.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n').response())
    const closing = server.running.close()
    const response = await late.write('t: x\r\n\r\n').response()
    expect([response.status, response.headers.connection]).toEqual([200, 'close'])
    expect(response.envelope.success).toBe(true)
    expect((await inFlight).status).toBe(200)
    await closing
  })

  it('close() is idempotent and gives work 9 s', { tags: ['connections/3', 'delivery-attempts/3'] }, async () => {
    const server = await open()
    onTestFinished(() => void vi.restoreAllMocks())
    const [stop, timer] = [vi.spyOn(DeliveryWorker.prototype, 'stop'), vi.spyOn(globalThis, 'setTimeout')]
    await Promise.all([server.running.close(), server.running.close()])
    await server.running.close()
    expect(stop.mock.calls).toEqual([[9_000]])
    expect(timer.mock.calls.map(([, ms]) => ms)).toContain(9_000)
  })

  it('close() of the server writes the last-use times of application tokens', () =>
    inFolder(async (dataDir) => {
      const first = await open({ dataDir })
      const tenant = await newTenant(first)
      await tenant.runtime(contract.templates.list, {})
      await first.close()
      const second = await open({ dataDir })
      const { items } = (await tenantAt(second, tenant).console(contract.tokens.list, { appId: tenant.appId })).data
      expect(items[0]?.lastUsedAt).toMatch(/Z$/)
    }))
})

/** The tenant for calls to `server`, which restarted on another port. */
function tenantAt(server: StandaloneServer, { accountId, jwt, appId, token, tokenId }: Tenant): Tenant {
  return new Tenant(server, accountId, jwt, appId, token, tokenId)
}
