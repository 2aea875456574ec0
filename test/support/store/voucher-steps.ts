import fc from 'fast-check'
import { expect } from 'vitest'
import { type Endpoint, scopes } from '../../../src/contract/endpoint.js'
import { contract } from '../../../src/contract/index.js'
import { securely } from '../secure/send.js'
import type { TestApp } from '../server/app.js'
import { type ApiResponse, callerOf, type Send } from '../server/client.js'
import { unknownCredential } from '../server/scene.js'
import { newTenant, type Tenant } from '../server/tenant.js'
import { DAY, type Expected, type ModelTemplate, VoucherModel } from './voucher-model.js'

/** Commands for `fc.commands`: each one runs on the model and on the server, whose results must be equal. */

/** How an API request is sent: in plain text, encrypted, or in plain text with a response that gets lost. */
type Way = 'plain' | 'sealed' | 'lost'

type Write =
  | { readonly do: 'issue'; readonly template: number; readonly ext: string; readonly to: string }
  | { readonly do: 'redeem'; readonly voucher: number; readonly type: string; readonly to: string | undefined }
  | { readonly do: 'reverse'; readonly redemption: number; readonly reason: string | undefined }

export type Step =
  | (Write & { readonly key: string; readonly way: Way })
  | { readonly do: 'again'; readonly back: number; readonly way: Way }
  | {
      readonly do: 'verify'
      readonly voucher: number
      readonly type: string
      readonly to: string | undefined
      readonly way: Way
    }
  | { readonly do: 'read'; readonly redemption: number; readonly way: Way }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'token' | 'application' | 'list' }
  | { readonly do: 'submit' | 'approve' | 'reject'; readonly template: number }

/** An index for which which() returns no object. */
const NOBODY = 99

/** Returns the object at an index; indexes wrap around, so that most commands use an existing object. */
const which = <T>(made: readonly T[], place: number): T | undefined =>
  place === NOBODY ? undefined : made[place % made.length]

type Call = (model: VoucherModel) => { endpoint: Endpoint; input: Record<string, unknown>; expected: Expected | null }

/** The server and the state that the commands of one test case share. */
export class Real {
  token: { id: string; value: string }
  readonly sealed: Send
  /** Write requests so far; `again` steps and the final audit repeat them. */
  readonly history: { readonly call: Call; readonly key: string }[] = []

  constructor(
    readonly server: TestApp,
    readonly tenant: Tenant,
  ) {
    this.token = { id: tenant.tokenId, value: tenant.token }
    this.sealed = securely(server.send, { now: () => server.clock.now() })
  }

  /** Issues a new JWT, because the test clock moves past the expiry of older ones. */
  async console() {
    const { accountId } = this.tenant
    const { jwt } = (await this.tenant.operator(contract.platform.issueAccountToken, { accountId })).data
    return callerOf(this.server.send, jwt)
  }
}

const relative = (days: number) => ({ type: 'relative' as const, duration_days: days })

/** Creates templates with small quotas and with validities that end, start later or are shortened. */
export async function setUp(server: TestApp): Promise<{ model: VoucherModel; real: Real }> {
  const tenant = await newTenant(server)
  const now = server.clock.now()
  const at = (days: number) => new Date(now + days * DAY).toISOString()
  const cut = (from: number, until: number) => (from < until ? { from, until } : null)
  const made: [Parameters<Tenant['draft']>[0] & object, ModelTemplate['windowAt'], ModelTemplate['status']][] = [
    [{ validity: relative(30), issue_limit: 3 }, (t) => cut(t, t + 30 * DAY), 'active'],
    [
      { validity: { type: 'fixed', starts_at: at(2), ends_at: at(60) }, issue_limit: 2 },
      (t) => (t < now + 60 * DAY ? { from: now + 2 * DAY, until: now + 60 * DAY } : null),
      'active',
    ],
    [
      { validity: { ...relative(200), delay_days: 1, not_after: at(150) }, issue_limit: 1 },
      (t) => cut(t + DAY, Math.min(t + 201 * DAY, now + 150 * DAY)),
      'active',
    ],
    [{ validity: relative(1), issue_limit: 5 }, (t) => cut(t, t + DAY), 'draft'],
  ]
  const templates: ModelTemplate[] = []
  for (const [body, windowAt, status] of made) {
    const { id } = await (status === 'active' ? tenant.template(body) : tenant.draft(body))
    templates.push({ id, limit: body.issue_limit as number, windowAt, status, issued: 0 })
  }
  return { model: new VoucherModel(templates, now), real: new Real(server, tenant) }
}

function callOf(
  step: Exclude<Step, { do: 'again' | 'advance' | 'token' | 'application' | 'list' | 'submit' | 'approve' | 'reject' }>,
): Call {
  return (model) => {
    if (step.do === 'issue') {
      const template = model.templates[step.template] as ModelTemplate
      const input = { template_id: template.id, external_issue_id: step.ext, recipient_user_id: step.to }
      return {
        endpoint: contract.vouchers.issue,
        input,
        expected: model.gate() ?? model.issue(template, step.ext, step.to, step.key),
      }
    }
    if (step.do === 'reverse' || step.do === 'read') {
      const endpoint = step.do === 'read' ? contract.vouchers.redemption : contract.vouchers.reverse
      const redemption = which(model.redemptions, step.redemption)
      // If its response was lost, the id of the redemption is unknown, so the request uses a missing id.
      const known = redemption !== undefined && redemption.id !== null ? redemption : null
      const reason = step.do === 'reverse' ? step.reason : undefined
      const input = { redemptionId: known?.id ?? 'rdm_0', ...(reason === undefined ? {} : { reason }) }
      const expectedByModel = () =>
        known === null ? null : step.do === 'read' ? model.read(known) : model.reverse(known, step.key, reason)
      return { endpoint, input, expected: model.gate() ?? expectedByModel() }
    }
    const voucher = which(model.vouchers, step.voucher)
    const shown = voucher?.credentials?.find((it) => it.type === step.type)
    const input = {
      credential: shown ?? unknownCredential(),
      ...(step.to === undefined ? {} : { recipient_user_id: step.to }),
    }
    const expectedByModel = () => {
      if (voucher === undefined || shown === undefined) return null
      return step.do === 'verify' ? model.verify(voucher, step.to) : model.redeem(voucher, step.type, step.key, step.to)
    }
    const endpoint = step.do === 'verify' ? contract.vouchers.verify : contract.vouchers.redeem
    return { endpoint, input, expected: model.gate() ?? expectedByModel() }
  }
}

function expectAgreement(response: ApiResponse, expected: Expected): void {
  expect([response.status, response.code]).toEqual([expected.status, expected.code])
  expect(response.headers['idempotent-replayed']).toBe(expected.replayed ? 'true' : undefined)
  if (expected.data !== undefined) expect(response.data).toMatchObject(expected.data)
  if (expected.sameness) expect(response.sameness).toBe(expected.sameness)
  if (expected.code === null) expected.learn?.(response.data as Record<string, unknown>, response.sameness)
}

export async function make(call: Call, key: string, way: Way, model: VoucherModel, real: Real): Promise<void> {
  const { endpoint, input, expected } = call(model)
  const response = await callerOf(way === 'sealed' ? real.sealed : real.server.send, real.token.value)(
    endpoint,
    input,
    endpoint.idempotent ? { key } : {},
  )
  // The server has processed the request, but the client has no response to compare.
  if (way === 'lost' && response.code === null) return expect(response.status).toBe(expected?.status)
  if (expected !== null) return expectAgreement(response, expected)
  // For an unknown object with a used idempotency key, either error is correct, and neither changes any state.
  expect(['VOUCHER_NOT_FOUND', 'REDEMPTION_NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED']).toContain(response.code)
}

export class Command implements fc.AsyncCommand<VoucherModel, Real> {
  constructor(readonly step: Step) {}

  check(): boolean {
    return true
  }

  toString(): string {
    return JSON.stringify(this.step)
  }

  async run(model: VoucherModel, real: Real): Promise<void> {
    const { step } = this
    const { tenant, server } = real
    const { appId } = tenant
    switch (step.do) {
      case 'again': {
        const earlier = real.history.at(-1 - step.back)
        if (earlier !== undefined) await make(earlier.call, earlier.key, step.way, model, real)
        return
      }
      case 'advance':
        server.clock.advance(step.ms)
        model.now += step.ms
        return
      case 'token':
        if (model.isTokenRevoked) {
          const input = { appId, name: 'next', scopes: [...scopes], expires_in_days: null }
          const { id, token } = (await (await real.console())(contract.tokens.create, input)).data
          real.token = { id, value: token }
        } else await (await real.console())(contract.tokens.revoke, { appId, tokenId: real.token.id })
        model.isTokenRevoked = !model.isTokenRevoked
        return
      case 'application': {
        const status = model.isApplicationDisabled ? 'active' : 'disabled'
        expect((await (await real.console())(contract.apps.update, { appId, status })).status).toBe(200)
        model.isApplicationDisabled = !model.isApplicationDisabled
        return
      }
      case 'submit':
      case 'approve':
      case 'reject':
        return decide(step.do, model.templates[step.template] as ModelTemplate, model, real)
      case 'list':
        return expectCounts(model, real)
      default: {
        const call = callOf(step)
        const key = 'key' in step ? step.key : ''
        if ('key' in step) real.history.push({ call, key })
        return make(call, key, step.way, model, real)
      }
    }
  }
}

async function decide(what: 'submit' | 'approve' | 'reject', template: ModelTemplate, model: VoucherModel, real: Real) {
  const templateId = template.id
  const allowed = what === 'submit' ? ['draft', 'rejected'] : ['reviewing']
  const gate = what === 'submit' ? model.gate() : null
  const caller = callerOf(real.server.send, real.token.value)
  const { operator } = real.tenant
  const response =
    what === 'submit'
      ? await caller(contract.templates.submit, { templateId })
      : what === 'approve'
        ? await operator(contract.platform.approveTemplate, { templateId })
        : await operator(contract.platform.rejectTemplate, { templateId, code: 'NO', reason: 'No.' })
  if (gate !== null) return expectAgreement(response, gate)
  if (!allowed.includes(template.status))
    return expectAgreement(response, { status: 409, code: 'TEMPLATE_STATE_CONFLICT' })
  template.status = ({ submit: 'reviewing', approve: 'active', reject: 'rejected' } as const)[what]
  expectAgreement(response, {
    status: 200,
    code: null,
    data: { status: template.status, issuedCount: template.issued },
  })
}

/** Compares the templates in the database with the model; needs no valid token or application. */
export async function expectCounts({ templates }: VoucherModel, { server, tenant }: Real): Promise<void> {
  const rows = await server.deps.store.read(function* () {
    const sql = `select t.id, t.status, t.issued_count, (select count(*) from vouchers v
      where v.application_id = t.application_id and v.template_id = t.id) as vouchers
      from templates t where t.application_id = $1 order by t.id`
    return (yield { kind: 'all', sql, params: [tenant.appId] }) as Record<string, unknown>[]
  })
  const told = rows.map(({ id, status, issued_count: issued, vouchers }) => ({ id, status, issued, vouchers }))
  const wanted = templates.map(({ id, status, issued }) => ({ id, status, issued, vouchers: issued }))
  expect(told).toEqual(wanted.sort((a, b) => (a.id < b.id ? -1 : 1)))
}

const key = fc.constantFrom('k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7', 'k8')
const user = fc.constantFrom('user-1', 'user-2')
const maybeUser = fc.option(user, { nil: undefined, freq: 3 })
const type = fc.constantFrom('redeem_code', 'qr_token')
const place = fc.oneof({ weight: 7, arbitrary: fc.nat(9) }, { weight: 1, arbitrary: fc.constant(NOBODY) })
const way = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Way>('plain') },
  { weight: 1, arbitrary: fc.constant<Way>('sealed') },
  { weight: 1, arbitrary: fc.constant<Way>('lost') },
)
const readWay = way.map((it): Way => (it === 'lost' ? 'plain' : it))
/** Time steps up to, at and after the limits of validities, 30 days and 90 days. */
const span = fc
  .tuple(fc.constantFrom(0, 1, 2, 29, 30, 58, 60, 90), fc.constantFrom(-1, 0, 1, 3_600_000))
  .map(([days, more]) => Math.max(0, days * DAY + more))

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('issue' as const),
      template: fc.nat(3),
      ext: fc.constantFrom('e1', 'e2', 'e3'),
      to: user,
      key,
      way,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('redeem' as const), voucher: place, type, to: maybeUser, key, way }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('reverse' as const),
      redemption: place,
      reason: fc.constantFrom(undefined, 'returned'),
      key,
      way,
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('again' as const), back: fc.nat(6), way }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('verify' as const), voucher: place, type, to: maybeUser, way: readWay }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const), redemption: place, way: readWay }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: span }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('submit' as const, 'approve' as const, 'reject' as const),
      template: fc.nat(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('list' as const, 'token' as const, 'application' as const) }),
  },
)

export const commands = (most: number) =>
  fc.commands([step.map((it) => new Command(it))], { maxCommands: most, size: 'max' })
