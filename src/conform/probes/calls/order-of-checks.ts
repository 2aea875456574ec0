import { contract } from '../../../contract/index.js'
import { application, template, tryIssue } from '../../fixtures.js'
import { type DefineProbe, probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import {
  anonymousRead,
  createdTemplate,
  issued,
  issueKey,
  listAs,
  tokensOfRun,
  UNKNOWN_TEMPLATE,
  verifyJson,
  verifyToken,
  verifyWith,
} from './shared.js'

const probe = probesOf('order-of-checks', { needs: ['token', 'template'] })
const accountProbe = probe.with({ needs: ['jwt'] })
const policyProbe = probe.with({ needs: ['jwt', 'secure'], plain: true })
const { apps, bots, templates, vouchers } = contract

const UNKNOWN_CHAT = 'chat_00000000000000000000000000'

/** Longer than the limit of 64 KiB for a body. */
const TOO_LONG = 'a'.repeat(65_536)

/**
 * Defines a probe that sends a call which fails two checks, to test which check is first. Each check alone must refuse
 * with its own status, so that a platform without either check is not reported here.
 */
const pair =
  (define: DefineProbe, number: number) =>
  (
    name: string,
    title: string,
    calls: (it: ProbeContext) => Promise<{ first: Observed; second: Observed; both: () => Promise<Observed> }>,
  ) =>
    define(number, name, title, async (run) => {
      const { first, second, both } = await calls(run)
      run.needsRefusal(first)
      run.needsRefusal(second)
      const [wanted, other] = [first, second].map(({ status, code }) => `status ${status} ${code}`)
      if (wanted === other) run.notApplicable('Needs two checks that refuse with different codes.')
      const { status, code } = await both()
      run.equals('refusal', `status ${status} ${code}`, wanted)
    })

const anonymousGet = (it: ProbeContext, path: string) => it.send({ method: 'GET', path, headers: {} })

/** Changes the policy of the run's application during some calls. */
async function withPolicy<T>(run: ProbeContext, changes: Readonly<Record<string, string>>, calls: () => Promise<T>) {
  const { id: appId } = await application(run)
  run.needs(await run.call(apps.update, { appId, ...changes }), 'an application with another policy')
  try {
    return await calls()
  } finally {
    await run.call(apps.update, { appId, status: 'active', secure_transport: 'optional' })
  }
}

const disabled = { status: 'disabled' }
const encryptedOnly = { secure_transport: 'required' }

export const orderOfChecks = [
  ...[
    { name: 'unknown-path', what: 'an unknown path', path: '/api/v1/open-platform/conform', status: 404 },
    { name: 'wrong-method', what: 'a method that a path does not take', path: vouchers.issue.path, status: 405 },
  ].map(({ name, what, path, status }) =>
    probe.with({ needs: [], reads: true })(
      2,
      `${name}-before-credential`,
      `A call without a credential for ${what} is refused with ${status}.`,
      async (run) => {
        run.needsRefusal(await anonymousRead(run), 401)
        run.refuses(await anonymousGet(run, path), status)
      },
    ),
  ),
  pair(accountProbe, 2)(
    'credential-before-application',
    'A call with a revoked token of a disabled application is refused as one with a revoked token.',
    async (run) => {
      const { reading, revoked } = await tokensOfRun(run)
      const first = await listAs(run, revoked)
      const second = await withPolicy(run, disabled, () => listAs(run, reading))
      return { first, second, both: () => withPolicy(run, disabled, () => listAs(run, revoked)) }
    },
  ),
  pair(policyProbe, 2)(
    'application-before-encryption',
    'A call in plain text for a disabled application that requires encryption is refused as disabled.',
    async (run) => {
      const { reading } = await tokensOfRun(run)
      const first = await withPolicy(run, disabled, () => listAs(run, reading))
      const second = await withPolicy(run, encryptedOnly, () => listAs(run, reading))
      const both = () => withPolicy(run, { ...disabled, ...encryptedOnly }, () => listAs(run, reading))
      return { first, second, both }
    },
  ),
  pair(policyProbe, 2)(
    'encryption-before-scope',
    'A call in plain text without its scope, for an application that requires encryption, is refused with 426.',
    async (run) => {
      const { reading, narrow } = await tokensOfRun(run)
      const first = await withPolicy(run, encryptedOnly, () => listAs(run, reading))
      const second = await listAs(run, narrow)
      return { first, second, both: () => withPolicy(run, encryptedOnly, () => listAs(run, narrow)) }
    },
  ),
  pair(probe, 3)(
    'credential-before-members',
    'A call without a credential and without required members is refused with 401.',
    async (run) => ({
      first: await anonymousRead(run),
      second: await run.call(vouchers.verify, {}),
      both: () => run.call(vouchers.verify, {}, { as: 'none' }),
    }),
  ),
  pair(probe.with({ needs: ['token', 'jwt', 'template'] }), 3)(
    'scope-before-members',
    'A call without its scope and without required members is refused with 403.',
    async (run) => {
      const as = await verifyToken(run)
      const first = await run.call(templates.list, {}, { as })
      return { first, second: await run.call(vouchers.issue, {}), both: () => run.call(vouchers.issue, {}, { as }) }
    },
  ),
  pair(probe, 3)(
    'media-type-before-size',
    'A call whose body is too large and not JSON is refused with 415.',
    async (run) => {
      const long = await verifyJson(run, { recipient_user_id: TOO_LONG })
      const text = { 'content-type': 'text/plain' }
      return {
        first: await verifyWith(run, await verifyJson(run), text),
        second: await verifyWith(run, long),
        both: () => verifyWith(run, long, text),
      }
    },
  ),
  pair(probe.with({ plain: true }), 3)(
    'size-before-json',
    'A call whose body is too large and malformed is refused with 413.',
    async (run) => ({
      first: await verifyWith(run, await verifyJson(run, { recipient_user_id: TOO_LONG })),
      second: await verifyWith(run, '{'),
      both: () => verifyWith(run, `{"${TOO_LONG}`),
    }),
  ),
  pair(probe, 3)(
    'members-before-idempotency-key',
    'An issue without required members and without a key is refused for its members.',
    async (run) => ({
      first: await run.call(vouchers.issue, {}),
      second: await tryIssue(run, {}, { key: null }),
      both: () => run.call(vouchers.issue, {}, { key: null }),
    }),
  ),
  pair(probe, 3)(
    'idempotency-key-before-objects',
    'An issue without a key from an unknown template is refused with 400.',
    async (run) => ({
      first: await tryIssue(run, {}, { key: null }),
      second: await tryIssue(run, { template_id: UNKNOWN_TEMPLATE }),
      both: () => tryIssue(run, { template_id: UNKNOWN_TEMPLATE }, { key: null }),
    }),
  ),
  pair(probe, 3)(
    'reused-key-before-objects',
    'An issue with a key of another request, from an unknown template, is refused with 409.',
    async (run) => {
      run.needs(await issued(run), 'an issued voucher')
      const key = issueKey(run)
      return {
        first: await tryIssue(run, {}, { key }),
        second: await tryIssue(run, { template_id: UNKNOWN_TEMPLATE }),
        both: () => tryIssue(run, { template_id: UNKNOWN_TEMPLATE }, { key }),
      }
    },
  ),
  pair(probe.with({ needs: ['token', 'bot', 'chat', 'template'] }), 3)(
    'unknown-object-before-state',
    'An issue by a bot from a draft into an unknown chat is refused with 404.',
    async (run) => {
      const { id } = run.needs(await createdTemplate(run), 'a draft')
      if (typeof id !== 'string') run.notApplicable('Needs a draft with an id.')
      const issue = async (template_id: string, chat_id = UNKNOWN_CHAT) =>
        run.call(bots.issue, { template_id, chat_id, external_issue_id: run.resources.name() })
      return {
        first: await issue(await template(run)),
        second: await issue(id, run.resources.offer.chat),
        both: () => issue(id),
      }
    },
  ),
]
