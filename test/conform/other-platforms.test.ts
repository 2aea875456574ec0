import { expect, test } from 'vitest'
import type { Transport } from '../../src/client/transport.js'
import { startReference, useReference } from '../support/conform/conform.js'
import {
  any,
  bodyOf,
  type Call,
  type Deviate,
  membersOf,
  on,
  refusal,
  responds,
  returns,
  returnsData,
} from '../support/conform/deviants.js'

const reference = useReference()

const verdicts = async (only: readonly string[], deviate: Deviate) => {
  const { results } = await reference.run({ only, deviate })
  return Object.fromEntries(results.map(({ probe, result }) => [probe, result]))
}

/** Keeps the calls of a run that change something. */
function changesOf(when: Call, calls: string[]): Deviate {
  return (next: Transport) => (request) => {
    if (when(request)) calls.push(`${request.method} ${request.path}`)
    return next(request)
  }
}

const without = (member: string) => (json: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(json).filter(([name]) => name !== member))

const withoutInItems = (member: string) => (data: Readonly<Record<string, unknown>>) => ({
  ...data,
  items: (data.items as readonly unknown[]).map((it) => without(member)(membersOf(it))),
})

const listOfBots = on('GET /api/v1/bots/my\\?.*')
const webhookCall = on('POST /api/v1/bots/my/[^/]+/webhook')

test('only the envelope probe reports a platform without refusal codes', async () => {
  const found = await verdicts(
    [
      'envelope/failure',
      'failure-codes/token-missing',
      'failure-codes/invalid-token',
      'template-states/issue-of-a-draft',
    ],
    returns(any, 4, without('code')),
  )
  const differing = Object.keys(found).filter((probe) => found[probe] === 'differs')
  expect(differing).toEqual(['envelope/failure'])
  expect(found['failure-codes/token-missing']).toBe('not_applicable')
  expect(found['failure-codes/invalid-token']).toBe('holds')
})

test('one probe reports a platform that refuses a repeated issue', async () => {
  const seen = new Set<unknown>()
  const deviate = responds(on('POST .*/vouchers/issue'), (response, request) => {
    const { external_issue_id } = bodyOf(request)
    const isRepeated = seen.has(external_issue_id)
    seen.add(external_issue_id)
    return isRepeated ? refusal(409, 'DUPLICATE') : response
  })
  const names = ['repeated-status', 'repeated-voucher', 'repeated-metadata', 'repeated-after-quota']
  const found = await verdicts(
    names.map((name) => `issue/${name}`),
    deviate,
  )
  expect(Object.values(found)).toEqual(['differs', 'not_applicable', 'not_applicable', 'not_applicable'])
})

test('probes that read the voucher of a verification report a verification without it', async () => {
  const deviate = returnsData(on('POST .*/vouchers/verify'), without('voucher'))
  expect(await verdicts(['verify/members', 'verify/changes-nothing', 'credentials/lower-case'], deviate)).toEqual({
    'verify/members': 'differs',
    'verify/changes-nothing': 'not_applicable',
    'credentials/lower-case': 'differs',
  })
})

test('probes wait for a template on a platform whose list takes no filter', async () => {
  const deviate = responds(on('GET .*/vouchers/templates\\?.*'), () => refusal(400, 'UNKNOWN_QUERY'))
  const names = ['issue/exhausted-quota', 'templates/issue-counts', 'template-states/approval', 'tenants/issue-by-bot']
  const found = await verdicts(names, deviate)
  expect(found).toEqual(Object.fromEntries(names.map((name) => [name, 'holds'])))
})

test('a 409 to a webhook call makes no statement about the URL of the webhook', async () => {
  const conflict = responds(webhookCall, () => refusal(409, 'CONFLICT'))
  const found = await verdicts(['webhook-urls/http', 'webhook-urls/local', 'webhook-urls/unresolved-name'], conflict)
  expect(Object.values(found)).toEqual(['not_applicable', 'not_applicable', 'not_applicable'])
})

test('record of a bot shows whether there is a webhook if the list lacks delivery_mode', async () => {
  const deviate = returnsData(listOfBots, withoutInItems('delivery_mode'))
  expect(await verdicts(['webhook-urls/http'], deviate)).toEqual({ 'webhook-urls/http': 'holds' })
})

test('probes do not change a bot whose profile they cannot read', async () => {
  const reviewing = await startReference({ autoApprove: false })
  const patches: string[] = []
  const incomplete = returnsData(on('GET /api/v1/bots/my/[^/]+'), without('profile'))
  const { results } = await reviewing.run({
    only: ['bot-records/url-without-https', 'bot-records/menu-commands'],
    deviate: (next) => changesOf(on('PATCH .*'), patches)(incomplete(next)),
  })
  expect(results.map(({ result }) => result)).toEqual(['not_applicable', 'not_applicable'])
  expect(patches).toEqual([])
  await reviewing.close()
})

test('probes do not link a bot whose application they cannot read', async () => {
  const links: string[] = []
  const incomplete = returnsData(listOfBots, withoutInItems('application_id'))
  const found = await verdicts(['applications/link-elsewhere'], (next) =>
    changesOf(on('PUT .*'), links)(incomplete(next)),
  )
  expect(found).toEqual({ 'applications/link-elsewhere': 'not_applicable' })
  expect(links).toEqual([])
})

test('token that the platform no longer finds is not reported as left over', async () => {
  const gone = responds(on('DELETE .*/tokens/.*'), () => refusal(404, 'TOKEN_NOT_FOUND'))
  const { left } = await reference.run({
    only: ['application-tokens/shown-once', 'failure-codes/insufficient-scope'],
    deviate: gone,
  })
  expect(left.map(({ kind }) => kind)).toEqual(['application'])
})

test('report shows null only if the platform sent null', async () => {
  const created = on('POST .*/applications/[^/]+/tokens')
  const { results } = await reference.run({
    only: ['application-tokens/lifetime-null'],
    deviate: returnsData(created, without('expiresAt')),
  })
  expect(results).toMatchObject([
    { result: 'differs', expected: 'lifetime in days: null', observed: 'lifetime in days: nothing' },
  ])
})
