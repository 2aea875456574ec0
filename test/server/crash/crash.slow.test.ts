import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { startServerChild } from '../../support/server/child.js'
import { temporaryFolder } from '../../support/server/server.js'
import { codeOf, newTenant } from '../../support/server/tenant.js'
import { crashRounds } from './rounds.js'

let folder: string
beforeAll(() => {
  folder = temporaryFolder()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('kill -9 right after a response', () => {
  it('server that is killed 5 times neither loses nor repeats any acknowledged call', async () => {
    await crashRounds(join(folder, 'data'), [1, 3, 20, 60, 150])
  })

  it('second server process on a data folder is refused until the first has ended', async () => {
    const dataDir = join(folder, 'shared')
    const first = await startServerChild(dataDir)
    await expect(startServerChild(dataDir)).rejects.toThrow(/DATA_FOLDER_IN_USE/)
    expect((await newTenant(first)).appId).toMatch(/^app_/)
    await first.kill()
    await (await startServerChild(dataDir)).kill()
  })
})

describe('secrets in files and logs', () => {
  /** Finds the files of a folder that contain one of the secrets. */
  function leaks(where: string, secrets: readonly string[], except: readonly string[] = []): string[] {
    return readdirSync(where)
      .filter((name) => !except.includes(name))
      .flatMap((name) => {
        const bytes = readFileSync(join(where, name))
        return secrets.filter((secret) => bytes.includes(secret)).map((secret) => `${name}: ${secret}`)
      })
  }

  it('server writes secrets only to its key files, never to the trace log', { tags: 'credentials/1' }, async () => {
    const dataDir = join(folder, 'secrets')
    const server = await startServerChild(dataDir, 'trace')
    const tenant = await newTenant(server)
    const revoked = await tenant.newToken()
    await tenant.console(contract.tokens.revoke, { appId: tenant.appId, tokenId: revoked.id })
    const voucher = await tenant.issue(undefined, { key: 'canary-key' })
    const [code, qr] = [codeOf(voucher), codeOf(voucher, 'qr_token')]
    await tenant.runtime(contract.vouchers.verify, { credential: qr })
    await tenant.redeem(voucher)
    // Cause each kind of failure, with secrets in wrong places of the request.
    await revoked.call(contract.templates.list, {})
    await tenant.runtime(contract.vouchers.redeem, { credential: code })
    await tenant.runtime(contract.vouchers.verify, { credential: { type: 'qr_token', value: code.value } })
    await tenant.runtime(contract.vouchers.redemption, { redemptionId: code.value })
    await tenant.runtime(contract.templates.list, { external_template_id: tenant.token })
    const authorization = `Bearer ${tenant.token}`
    const path = contract.vouchers.verify.path
    for (const body of [`{"credential":"${code.value}"`, JSON.stringify({ [qr.value]: tenant.token })]) {
      await server.send({ method: 'POST', path, headers: { authorization, 'content-type': 'application/json' }, body })
    }
    await server.send({
      method: 'GET',
      path: `/${tenant.token}?${code.value}=${qr.value}`,
      headers: { cookie: tenant.jwt },
    })
    await tenant.operator(contract.platform.addFault, { endpoint: 'vouchers.verify', kind: 'error', times: 1 })
    await tenant.runtime(contract.vouchers.verify, { credential: qr })
    // The server logs in order, a few milliseconds after each response: wait for the line of the last call.
    await vi.waitFor(() => expect(server.output()).toContain('"code":"SERVICE_UNAVAILABLE"'), 30_000)
    await server.kill()

    const keys = JSON.parse(readFileSync(join(dataDir, 'keys.json'), 'utf8')) as {
      account_key: string
      credential_keys: { derive: string; index: string }[]
    }
    const secrets = [
      ...[tenant.token, revoked.token, tenant.jwt, server.operatorKey, code.value, qr.value],
      ...[code.value.replaceAll('-', ''), qr.value.slice(4), tenant.jwt.split('.')[2] as string],
      ...[keys.account_key, ...keys.credential_keys.flatMap((key) => [key.derive, key.index])],
    ]
    expect(readdirSync(dataDir)).toContain('voucherctl.db-wal')
    expect(leaks(dataDir, secrets, ['keys.json', 'operator.key'])).toEqual([])
    expect(secrets.filter((secret) => server.output().includes(secret))).toEqual([])
    expect(server.output()).toContain('"endpoint":"vouchers.redeem"')
    for (const name of readdirSync(dataDir)) {
      expect([name, statSync(join(dataDir, name)).mode & 0o777]).toEqual([name, 0o600])
    }
    expect(statSync(dataDir).mode & 0o777).toBe(0o700)

    // Prove that the search can find a secret.
    expect(leaks(dataDir, [server.operatorKey])).toEqual([`operator.key: ${server.operatorKey}`])
    expect(leaks(dataDir, [voucher.id]).length).toBeGreaterThan(0)
  })
})
