import { contract } from '../../../contract/index.js'
import { application, template, tryIssue } from '../../fixtures.js'
import { type ProbeOptions, probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import {
  anonymousRead,
  createdTemplate,
  issued,
  issueKey,
  listAs,
  needsStatus,
  tokensOfRun,
  UNKNOWN_TEMPLATE,
  verifyJson,
  verifyToken,
  verifyWith,
} from './shared.js'

const probe = probesOf('order-of-checks')
const { apps, bots, templates, vouchers } = contract

const UNKNOWN_CHAT = 'chat_00000000000000000000000000'

/** Longer than the 64 KiB of a body. */
const TOO_LONG = 'a'.repeat(65_536)

/**
 * Defines a probe that observes which of two checks is first, by a call that fails both. Each check alone must refuse
 * with its own status, so that a platform without one of them is not reported here.
 */
const pair = (
  name: string,
  title: string,
  options: ProbeOptions,
  calls: (it: ProbeContext) => Promise<{ first: Observed; second: Observed; both: () => Promise<Observed> }>,
) => {
  const run = async (it: ProbeContext) => {
    const { first, second, both } = await calls(it)
    needsStatus(it, first, '4xx')
    needsStatus(it, second, '4xx')
    const [wanted, other] = [first, second].map(({ status, code }) => `status ${status} ${code}`)
    if (wanted === other) it.notApplicable('Needs two checks that refuse with different codes.')
    const { status, code } = await both()
    it.equals('refusal', `status ${status} ${code}`, wanted)
  }
  return probe(name, title, options, run)
}

/** A call without a credential that reads another path. */
const anonymousGet = (it: ProbeContext, path: string) => it.send({ method: 'GET', path, headers: {} })

/** Changes the policy of the application of the run for some calls. */
async function withPolicy<T>(it: ProbeContext, changes: Readonly<Record<string, string>>, calls: () => Promise<T>) {
  const { id: appId } = await application(it)
  it.needs(await it.call(apps.update, { appId, ...changes }), 'an application with another policy')
  try {
    return await calls()
  } finally {
    await it.call(apps.update, { appId, status: 'active', secure_transport: 'optional' })
  }
}

const disabled = { status: 'disabled' }
const encryptedOnly = { secure_transport: 'required' }

export const orderOfChecks = [
  ...[
    { name: 'unknown-path', what: 'an unknown path', path: '/api/v1/open-platform/conform', status: 404 },
    { name: 'wrong-method', what: 'a method that a path does not take', path: vouchers.issue.path, status: 405 },
  ].map(({ name, what, path, status }) =>
    probe(
      `${name}-before-credential`,
      `A call without a credential for ${what} is refused with ${status}.`,
      { reads: true },
      async (it) => {
        needsStatus(it, await anonymousRead(it), 401)
        it.refuses(await anonymousGet(it, path), status)
      },
    ),
  ),
  pair(
    'credential-before-application',
    'A call with a revoked token of a disabled application is refused as one with a revoked token.',
    { needs: ['jwt'] },
    async (it) => {
      const { reading, revoked } = await tokensOfRun(it)
      const first = await listAs(it, revoked)
      const second = await withPolicy(it, disabled, () => listAs(it, reading))
      return { first, second, both: () => withPolicy(it, disabled, () => listAs(it, revoked)) }
    },
  ),
  pair(
    'application-before-encryption',
    'A call in plain text for a disabled application that requires encryption is refused as disabled.',
    { needs: ['jwt', 'secure'], plain: true },
    async (it) => {
      const { reading } = await tokensOfRun(it)
      const first = await withPolicy(it, disabled, () => listAs(it, reading))
      const second = await withPolicy(it, encryptedOnly, () => listAs(it, reading))
      const both = () => withPolicy(it, { ...disabled, ...encryptedOnly }, () => listAs(it, reading))
      return { first, second, both }
    },
  ),
  pair(
    'encryption-before-scope',
    'A call in plain text without its scope, for an application that requires encryption, is refused with 426.',
    { needs: ['jwt', 'secure'], plain: true },
    async (it) => {
      const { reading, narrow } = await tokensOfRun(it)
      const first = await withPolicy(it, encryptedOnly, () => listAs(it, reading))
      const second = await listAs(it, narrow)
      return { first, second, both: () => withPolicy(it, encryptedOnly, () => listAs(it, narrow)) }
    },
  ),
  pair(
    'credential-before-members',
    'A call without a credential and without required members is refused with 401.',
    { needs: ['token', 'template'] },
    async (it) => ({
      first: await anonymousRead(it),
      second: await it.call(vouchers.verify, {}),
      both: () => it.call(vouchers.verify, {}, { as: 'none' }),
    }),
  ),
  pair(
    'scope-before-members',
    'A call without its scope and without required members is refused with 403.',
    { needs: ['token', 'jwt', 'template'] },
    async (it) => {
      const as = await verifyToken(it)
      const first = await it.call(templates.list, {}, { as })
      return { first, second: await it.call(vouchers.issue, {}), both: () => it.call(vouchers.issue, {}, { as }) }
    },
  ),
  pair(
    'media-type-before-size',
    'A call whose body is too large and not JSON is refused with 415.',
    { needs: ['token', 'template'] },
    async (it) => {
      const long = await verifyJson(it, { recipient_user_id: TOO_LONG })
      const text = { 'content-type': 'text/plain' }
      return {
        first: await verifyWith(it, await verifyJson(it), text),
        second: await verifyWith(it, long),
        both: () => verifyWith(it, long, text),
      }
    },
  ),
  pair(
    'size-before-json',
    'A call whose body is too large and malformed is refused with 413.',
    { needs: ['token', 'template'], plain: true },
    async (it) => ({
      first: await verifyWith(it, await verifyJson(it, { recipient_user_id: TOO_LONG })),
      second: await verifyWith(it, '{'),
      both: () => verifyWith(it, `{"${TOO_LONG}`),
    }),
  ),
  pair(
    'members-before-idempotency-key',
    'An issue without required members and without a key is refused for its members.',
    { needs: ['token', 'template'] },
    async (it) => ({
      first: await it.call(vouchers.issue, {}),
      second: await tryIssue(it, {}, { key: null }),
      both: () => it.call(vouchers.issue, {}, { key: null }),
    }),
  ),
  pair(
    'idempotency-key-before-objects',
    'An issue without a key from an unknown template is refused with 400.',
    { needs: ['token', 'template'] },
    async (it) => ({
      first: await tryIssue(it, {}, { key: null }),
      second: await tryIssue(it, { template_id: UNKNOWN_TEMPLATE }),
      both: () => tryIssue(it, { template_id: UNKNOWN_TEMPLATE }, { key: null }),
    }),
  ),
  pair(
    'reused-key-before-objects',
    'An issue with a key of another request, from an unknown template, is refused with 409.',
    { needs: ['token', 'template'] },
    async (it) => {
      it.needs(await issued(it), 'an issued voucher')
      const key = issueKey(it)
      return {
        first: await tryIssue(it, {}, { key }),
        second: await tryIssue(it, { template_id: UNKNOWN_TEMPLATE }),
        both: () => tryIssue(it, { template_id: UNKNOWN_TEMPLATE }, { key }),
      }
    },
  ),
  pair(
    'unknown-object-before-state',
    'An issue by a bot from a draft into an unknown chat is refused with 404.',
    { needs: ['token', 'bot', 'chat', 'template'] },
    async (it) => {
      const { id } = it.needs(await createdTemplate(it), 'a draft')
      if (typeof id !== 'string') it.notApplicable('Needs a draft with an id.')
      const issue = async (template_id: string, chat_id = UNKNOWN_CHAT) =>
        it.call(bots.issue, { template_id, chat_id, external_issue_id: it.resources.name() })
      return {
        first: await issue(await template(it)),
        second: await issue(id, it.resources.offer.chat),
        both: () => issue(id),
      }
    },
  ),
]
