import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { paths } from '../../../src/secure/index.js'
import { securely } from '../../support/secure/send.js'
import { wireSession } from '../../support/secure/wire.js'
import { startServerChild } from '../../support/server/child.js'
import { callerOf } from '../../support/server/client.js'
import { until } from '../../support/server/deliveries.js'
import { inFolder, liveServer, standaloneServer } from '../../support/server/server.js'
import { codeOf, newTenant } from '../../support/server/tenant.js'

/** Tests of the encrypted transport on a server process: options, shutdown, secrets in files and logs. */

describe('transport options of a server', () => {
  it('server option requireSecure refuses plain calls and accepts encrypted ones', async () => {
    const live = await liveServer({ secure: 'required' })
    const tenant = await newTenant(live)
    expect((await tenant.runtime(contract.templates.list, {})).status).toBe(426)
    const inside = callerOf(securely(live.send, { now: Date.now }), tenant.token)
    expect((await inside(contract.templates.list, {})).status).toBe(200)
    await live.close()
  })

  it('server option secure: false disables the encrypted transport', async () => {
    const live = await liveServer({ secure: false })
    expect(JSON.parse((await live.send({ method: 'GET', path: paths.bootstrap })).text).enabled).toBe(false)
    await live.close()
  })

  it('server options brand and allowedOrigins apply to encrypted sessions', async () => {
    const live = await standaloneServer({
      brand: 'corner-shop',
      allowedOrigins: ['https://a.example', 'https://b.example'],
    })
    const open = (origin: string) => wireSession(live.send, { origin, now: Date.now })
    expect((await open('https://b.example')).brand).toBe('corner-shop')
    await expect(open('https://c.example')).rejects.toThrow('SECURE_ORIGIN_NOT_ALLOWED')
    await expect(open('')).rejects.toThrow('SECURE_ORIGIN_NOT_ALLOWED')
    await live.close()
  })
})

describe('server process with encrypted sessions', () => {
  it('SIGTERM ends an encrypted poll with a response and stops the server in time', () =>
    inFolder(async (dataDir) => {
      const child = await startServerChild(dataDir)
      const tenant = await newTenant(child)
      const bot = await tenant.bot()
      const inside = callerOf(securely(child.send, { now: Date.now }), bot.token)
      expect((await inside(contract.bots.updates, {})).data).toEqual({ items: [] })
      const poll = () => inside(contract.bots.updates, { timeout: 10 })
      let held = poll()
      // The server refuses a webhook while it holds a poll, which shows when the poll has arrived.
      await until(async () => {
        const input = { botId: bot.id, url: 'https://93.184.215.14/' }
        const set = await tenant.console(contract.webhook.set, input)
        if (set.code === 'POLLING_ACTIVE') return true
        // The webhook came first: the server refuses this poll.
        await held
        await tenant.console(contract.webhook.delete, { botId: bot.id })
        held = poll()
        return false
      })
      const code = await child.stop(9_000)
      expect([(await held).data, code]).toEqual([{ items: [] }, 0])
    }))

  it('secret of an encrypted session never appears in files, logs or responses', () =>
    inFolder(async (dataDir) => {
      const child = await startServerChild(dataDir, 'trace')
      const tenant = await newTenant(child)
      const seen: string[] = []
      const send: typeof child.send = async (request) => {
        const response = await child.send(request)
        if (!request.path.endsWith('/session')) seen.push(response.text)
        return response
      }
      let salt = ''
      const session = await wireSession(
        async (request) => {
          const response = await child.send(request)
          if (request.path === paths.session) salt = JSON.parse(response.text).salt
          return response
        },
        { now: Date.now },
      )
      const voucher = await tenant.issue()
      const call = {
        method: 'POST',
        path: contract.vouchers.redeem.path,
        headers: {
          authorization: `Bearer ${tenant.token}`,
          'content-type': 'application/json',
          'idempotency-key': 'canary-of-the-key',
        },
        body: { credential: codeOf(voucher), reference: 'canary-of-the-plaintext' },
      }
      const sent = session.seal(call)
      const ciphertexts = [JSON.parse(sent.body).ciphertext as string]
      const redeemed = await send(sent)
      ciphertexts.push(JSON.parse(redeemed.text).ciphertext)
      expect(session.open(sent, redeemed).status).toBe(200)
      // Cause each kind of failure with secrets in the request: replayed, altered, unknown, malformed and refused.
      await send(sent)
      await send({ ...sent, body: sent.body.replace(/.{6}"\}$/, 'AAAAAA"}') })
      await send({ ...sent, body: sent.body.replace(session.sid, 'ss_unknown_unknown_unkn') })
      await send({ ...sent, body: sent.body.slice(0, -1) })
      await send({ ...sent, headers: { ...sent.headers, 'content-type': 'text/plain' } })
      await session.call({ ...call, path: '/api/v1/secure/canary-of-the-plaintext' })
      await session.call(Buffer.from('"canary-of-the-plaintext"'))
      await tenant.operator(contract.platform.addFault, { endpoint: 'vouchers.redeem', kind: 'error', times: 1 })
      expect((await session.call(call)).status).toBe(503)
      await tenant.operator(contract.platform.rotateSecureKeys, {})
      const requests = await tenant.operator(contract.platform.requests, {})
      // The server logs in order, a few milliseconds after each response: wait for the line of the last call.
      await vi.waitFor(() => expect(child.output()).toContain('"endpoint":"platform.requests"'), 30_000)
      await child.kill()

      const kept = JSON.parse(readFileSync(join(dataDir, 'secure-keys.json'), 'utf8')).keys as {
        private_key: string
      }[]
      const forms = (bytes: Uint8Array) => {
        const buffer = Buffer.from(bytes)
        return [buffer.toString('base64url'), buffer.toString('base64'), buffer.toString('hex')]
      }
      const texts = [salt, ...kept.map((it) => it.private_key)]
      const raw = [session.keyC2s, session.keyS2c, ...texts.map((it) => Buffer.from(it, 'base64url'))].map((it) =>
        Buffer.from(it),
      )
      const secrets = [
        ...raw.flatMap(forms),
        ...ciphertexts.map((it) => it.slice(20, 60)),
        ...['canary-of-the-key', tenant.token, codeOf(voucher).value],
      ]
      const bytesOf = (name: string) => readFileSync(join(dataDir, name))
      const places: Record<string, Buffer> = {
        ...Object.fromEntries(readdirSync(dataDir).map((name) => [name, bytesOf(name)])),
        output: Buffer.from(child.output()),
        requests: Buffer.from(requests.text),
      }
      const leaksIn = (names: readonly string[], wanted: readonly (string | Buffer)[]) =>
        names.filter((name) => wanted.some((it) => places[name]?.includes(it)))
      const others = Object.keys(places).filter(
        (name) => !['secure-keys.json', 'keys.json', 'operator.key'].includes(name),
      )
      expect(others).toEqual(expect.arrayContaining(['voucherctl.db', 'voucherctl.db-wal', 'output', 'requests']))
      // Only the database may contain the Idempotency-Key of a call, in its idempotency record.
      const ofDatabase = others.filter((it) => it.startsWith('voucherctl.db'))
      expect(leaksIn(ofDatabase, [...raw, ...secrets.filter((it) => it !== 'canary-of-the-key')])).toEqual([])
      const outside = others.filter((it) => !ofDatabase.includes(it))
      expect(leaksIn(outside, [...raw, ...secrets, 'canary-of-the-plaintext'])).toEqual([])
      const failures = seen.filter((it) => it.includes('"success":false')).join()
      expect(failures.length).toBeGreaterThan(0)
      for (const it of [...secrets, 'canary-of-the-plaintext']) expect(failures).not.toContain(it)

      // Prove that the search can find the reference in the database, the endpoint in the log, and the private keys.
      expect(leaksIn(ofDatabase, ['canary-of-the-plaintext']).length).toBeGreaterThan(0)
      expect(leaksIn(['output', 'requests'], ['vouchers.redeem', 'secure.dispatch'])).toEqual(['output', 'requests'])
      expect(leaksIn(['secure-keys.json'], secrets)).toEqual(['secure-keys.json'])
    }))
})
