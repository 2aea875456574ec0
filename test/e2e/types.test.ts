import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execaNode } from 'execa'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folder, packageFolder } from './installed.js'

const files = ['consumer.mts', 'consumer.cts', 'testing.cts', 'tsconfig.json'].map((name) => join(folder, name))

const typed = `import { CallError, createClient, failureCodes, unwrap, type CallFailure, type Redemption } from 'voucherctl/client'
import { createSecureSession, SUITE, type SecureSession } from 'voucherctl/secure'
import { startServer, type TestServer } from 'voucherctl/testing'
import { type SignedWebhookHeaders, signWebhook, verifyWebhook, type WebhookUpdate } from 'voucherctl/webhook'

const client = createClient({ baseUrl: 'https://vouchers.example', token: 'sop_x' })

export async function redeem(code: string): Promise<Redemption | CallFailure> {
  const result = await client.vouchers.redeem(
    { credential: { type: 'redeem_code', value: code }, reference: 'till-7' },
    { idempotencyKey: 'order-1' },
  )
  return result.ok ? result.data : result
}

export async function names(): Promise<string[]> {
  const result = await client.templates.list({ status: 'active' })
  return result.ok ? result.data.items.map((template) => template.externalTemplateId) : []
}

export const openSession: (...options: Parameters<typeof createSecureSession>) => SecureSession = createSecureSession
export const suite: 'P256-HKDF-SHA256-A256GCM' = SUITE
const headers: SignedWebhookHeaders = signWebhook({ rawBody: '{}', secrets: ['s'], timestamp: 1, updateId: 1 })
export const verified: boolean = verifyWebhook({ headers, rawBody: '{}', secrets: ['s'] }).ok

export async function receive(server: TestServer): Promise<string> {
  const { voucher_redeemed: it } = await server.receive('voucher_redeemed', { within: 1_000 })
  return it.redemption.voucherId
}

export async function allNames(): Promise<string[]> {
  const names = []
  const options = { headers: { 'x-trace': 't' }, retry: { tries: 2 } }
  for await (const { items } of client.templates.list.pages({ status: 'active' }, options))
    names.push(...items.map((template) => template.name))
  return names
}

export async function reasonOf(code: string): Promise<string> {
  const result = await client.vouchers.redeem({ credential: { type: 'redeem_code', value: code } })
  if (result.ok) return unwrap(result).voucherId
  // @ts-expect-error a typing mistake in a code
  if (result.code === 'VOUCHER_ALREADY_REDEMED') return 'twice'
  // @ts-expect-error a redemption never fails with a code of bots
  if (result.code === 'BOT_NOT_FOUND') return 'bot'
  return result.code === 'VOUCHER_ALREADY_REDEEMED' ? 'twice' : result.message
}

export const isKnown = (error: unknown): boolean => error instanceof CallError && failureCodes.includes(error.code)

export function handle(update: WebhookUpdate): string | number {
  if (update.type === 'voucher_redeemed') return update.voucher_redeemed.redemption.voucherId
  if (update.type === 'message') return update.message.text
  // @ts-expect-error no update has this type
  if (update.type === 'voucher_redemed') return 0
  return update.update_id
}
// @ts-expect-error the option is autoApprove
void startServer({ autoAprove: true })

// @ts-expect-error the required member "credential" is missing
void client.vouchers.redeem({ reference: 'till-7' })
// @ts-expect-error an application has no member "colour"
void client.apps.get({ appId: 'app_1' }).then((result) => result.ok && result.data.colour)
`

const typedCommonJs = `import testing = require('voucherctl/testing')

export async function start(seed: testing.Seed): Promise<testing.TestServer> {
  const server = await testing.startServer({ seed, clock: new Date() })
  server.clock.advance('31d')
  return server
}
`

beforeAll(() => {
  const compilerOptions = {
    target: 'es2023',
    // Refuses to require an ES module, as Node did before 20.19.
    module: 'node16',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
    typeRoots: [dirname(packageFolder('@types/node'))],
  }
  const contents = [typed, typed, typedCommonJs, JSON.stringify({ compilerOptions, files: files.slice(0, -1) })]
  for (const [index, file] of files.entries()) writeFileSync(file, contents[index] ?? '')
})
afterAll(() => {
  for (const file of files) rmSync(file, { force: true })
})

test('a strict project with skipLibCheck false compiles with the libraries, in .mts and .cts', async () => {
  const { stdout, exitCode } = await execaNode({ cwd: folder, reject: false })(
    join(packageFolder('typescript'), 'bin', 'tsc'),
    ['-p', 'tsconfig.json'],
  )
  expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 0 })
})
