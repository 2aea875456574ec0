import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { failuresOf } from '../../src/contract/endpoint.js'
import { endpoints } from '../../src/contract/index.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Inside the repository, so that the compiler finds the types of Node. */
const folder = join(root, 'node_modules', '.types-test')
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A program that compiles only if the union of codes of each endpoint equals the list that `failuresOf` returns. */
const codes = `import type { FailureCodeOf } from '../../src/contract/endpoint.js'
import type { Contract } from '../../src/contract/index.js'

type Equal<A, B> = [A, B] extends [B, A] ? true : false
${endpoints
  .map((endpoint) => {
    const [group, name] = endpoint.id.split('.')
    const union = failuresOf(endpoint).map((code) => `'${code}'`)
    return `export const ${group}_${name}: Equal<FailureCodeOf<Contract['${group}']['${name}']>, ${union.join(' | ')}> = true`
  })
  .join('\n')}
`

/** Pins the names and types of the public surface of voucherctl/client and voucherctl/webhook. */
const surface = `import * as client from '../../src/client/index.js'
import type { NewFault } from '../../src/testing/types.js'
import * as webhook from '../../src/webhook/index.js'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
export const names: Equal<
  keyof typeof client,
  | 'CallError' | 'TransportError' | 'contract' | 'createClient' | 'createHttpTransport' | 'createPoolTransport'
  | 'failureCodes' | 'failureCodesOf' | 'unwrap' | 'withRetry' | 'withSecure'
> = true
export const webhookNames: Equal<
  keyof typeof webhook,
  'DEFAULT_TOLERANCE_SECONDS' | 'explainMismatch' | 'signWebhook' | 'verifyWebhook' | 'webhookHeaders'
> = true
export type Types = [
  client.Application, client.Call, client.CallFailure, client.CallFailureCode, client.CallOptions,
  client.CallResult<unknown>, client.CallSettings, client.CallSuccess<unknown>, client.Client, client.ClientOptions,
  client.CreatedToken, client.Credential, client.DowngradeProtection, client.IssuedVoucher, client.PoolOptions,
  client.PoolTransport, client.Redemption, client.Retry, client.RetryOptions, client.SecureFault, client.SecureMode,
  client.SecureOptions, client.Template, client.Token, client.TokenSource, client.Transport,
  client.TransportErrorKind, client.TransportRequest, client.TransportResponse, client.Verification, client.Voucher,
  webhook.UpdateOf<'ping'>, webhook.UpdatePayloads, webhook.UpdateType, webhook.VerifiedWebhook, webhook.WebhookUpdate,
]

declare const library: client.Client
void library.vouchers.issue({ template_id: '', external_issue_id: '', recipient_user_id: '', metadata: undefined })
void library.templates.list({ status: undefined })
// @ts-expect-error a required member
void library.vouchers.issue({ template_id: undefined, external_issue_id: '', recipient_user_id: '' })
export const fault: NewFault = { endpoint: 'vouchers.redeem', kind: 'error' }
// @ts-expect-error a typing mistake in an endpoint
export const unknown: NewFault = { endpoint: 'vouchers.redem', kind: 'error' }
// @ts-expect-error the operator's endpoints have no faults
export const operators: NewFault = { endpoint: 'platform.reset', kind: 'error' }
declare const result: Awaited<ReturnType<client.Client['vouchers']['redeem']>>
if (!result.ok && result.code === 'VOUCHER_ALREADY_REDEEMED') void result.details
// @ts-expect-error a typing mistake in a code
if (!result.ok && result.code === 'VOUCHER_ALREADY_REDEMED') void result
// @ts-expect-error redeem never fails with a code of bots
if (!result.ok && result.code === 'BOT_NOT_FOUND') void result
declare const error: client.CallError
// @ts-expect-error a typing mistake in a code
if (error.code === 'NETWORK_EROR') void error
declare const update: webhook.WebhookUpdate
export const id: Equal<typeof update.update_id, number> = true
if (update.type === 'voucher_redeemed') void (update.voucher_redeemed.redemption.voucherId satisfies string)
// @ts-expect-error no update has this type
if (update.type === 'voucher_redemed') void update
declare const polled: Awaited<ReturnType<client.Client['bots']['updates']>>
if (polled.ok) for (const it of polled.data.items) void (it.update_id satisfies number)
declare const deliveries: Awaited<ReturnType<client.Client['webhook']['deliveries']>>
if (deliveries.ok) for (const it of deliveries.data.items) void (it.update_id satisfies number)
`

test('the compiler derives the failure codes of each endpoint and the public types as declared', () => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'codes.ts'), codes)
  writeFileSync(join(folder, 'surface.ts'), surface)
  const options = { extends: '../../tsconfig.json', compilerOptions: { rootDir: '../..', declaration: false } }
  const include = ['codes.ts', 'surface.ts', '../../src/client/undici.d.ts']
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...options, include, exclude: [] }))
  const tsc = join(dirname(fileURLToPath(import.meta.resolve('typescript/package.json'))), 'bin', 'tsc')
  let output = ''
  try {
    execFileSync(process.execPath, [tsc, '-p', join(folder, 'tsconfig.json')], { encoding: 'utf8' })
  } catch (error) {
    output = (error as { stdout: string }).stdout
  }
  expect(output).toBe('')
})
