import { contract } from '../../../contract/index.js'
import { tryIssue } from '../../fixtures.js'
import type { Need } from '../../group.js'
import { probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import {
  anonymousRead,
  createdTemplate,
  listAs,
  needsStatus,
  tokensOfRun,
  UNKNOWN_REDEMPTION,
  UNKNOWN_TEMPLATE,
  verifyJson,
  verifyWith,
} from './shared.js'

const probe = probesOf('failure-codes', {
  needs: ['token', 'jwt'],
  specified: ['invalid-token', 'template-of-another-application'],
})
const { apps, bots, templates, vouchers } = contract

interface Failure {
  readonly name: string
  readonly what: string
  readonly status: number
  readonly code: string
  readonly needs: readonly Need[]
  readonly reads?: true
  readonly plain?: true
  call(it: ProbeContext): Promise<Observed>
}

const unknownToken = (it: ProbeContext) => listAs(it, 'conform')

/** Failures whose code only the table of failures names: the rules of their checks name the status. */
const failures: readonly Failure[] = [
  {
    name: 'token-missing',
    what: 'A call without a credential',
    status: 401,
    code: 'TOKEN_MISSING',
    needs: [],
    reads: true,
    call: anonymousRead,
  },
  {
    name: 'token-invalid',
    what: 'A call with an invalid token',
    status: 401,
    code: 'TOKEN_INVALID',
    needs: [],
    reads: true,
    call: unknownToken,
  },
  {
    name: 'token-revoked',
    what: 'A call with a revoked token',
    status: 401,
    code: 'TOKEN_REVOKED',
    needs: ['jwt'],
    call: async (it) => listAs(it, (await tokensOfRun(it)).revoked),
  },
  {
    name: 'insufficient-scope',
    what: 'A call without its scope',
    status: 403,
    code: 'INSUFFICIENT_SCOPE',
    needs: ['jwt'],
    call: async (it) => listAs(it, (await tokensOfRun(it)).narrow),
  },
  {
    name: 'route-not-found',
    what: 'A call for an unknown path',
    status: 404,
    code: 'ROUTE_NOT_FOUND',
    needs: [],
    reads: true,
    call: (it) => it.send({ method: 'GET', path: '/api/v1/open-platform/conform', headers: {} }),
  },
  {
    name: 'method-not-allowed',
    what: 'A call with a method that its path does not take',
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    needs: [],
    reads: true,
    call: (it) => it.send({ method: 'GET', path: vouchers.issue.path, headers: {} }),
  },
  {
    name: 'template-not-found',
    what: 'An issue from an unknown template',
    status: 404,
    code: 'TEMPLATE_NOT_FOUND',
    needs: ['token'],
    call: (it) => tryIssue(it, { template_id: UNKNOWN_TEMPLATE }),
  },
  {
    name: 'redemption-not-found',
    what: 'A read of an unknown redemption',
    status: 404,
    code: 'REDEMPTION_NOT_FOUND',
    needs: ['token'],
    reads: true,
    call: (it) => it.call(vouchers.redemption, { redemptionId: UNKNOWN_REDEMPTION }),
  },
  {
    name: 'application-not-found',
    what: 'A read of an unknown application',
    status: 404,
    code: 'APPLICATION_NOT_FOUND',
    needs: ['jwt'],
    reads: true,
    call: (it) => it.call(apps.get, { appId: 'app_00000000000000000000000000' }),
  },
  {
    name: 'bot-not-found',
    what: 'A read of an unknown bot',
    status: 404,
    code: 'BOT_NOT_FOUND',
    needs: ['jwt'],
    reads: true,
    call: (it) => it.call(bots.metrics, { botId: 'bot_00000000000000000000000000' }),
  },
  {
    name: 'invalid-json',
    what: 'A call whose body is malformed',
    status: 400,
    code: 'INVALID_JSON',
    needs: ['token'],
    plain: true,
    call: (it) => verifyWith(it, '{'),
  },
  {
    name: 'payload-too-large',
    what: 'A call whose body is too large',
    status: 413,
    code: 'PAYLOAD_TOO_LARGE',
    needs: ['token', 'template'],
    call: async (it) => verifyWith(it, await verifyJson(it, { recipient_user_id: 'a'.repeat(65_536) })),
  },
  {
    name: 'unsupported-media-type',
    what: 'A call whose body is text/plain',
    status: 415,
    code: 'UNSUPPORTED_MEDIA_TYPE',
    needs: ['token', 'template'],
    call: async (it) => verifyWith(it, await verifyJson(it), { 'content-type': 'text/plain' }),
  },
]

export const failureCodes = [
  probe('invalid-token', 'A call with an invalid token is refused with 401.', { needs: [], reads: true }, async (run) =>
    run.refuses(await unknownToken(run), 401),
  ),
  probe(
    'template-of-another-application',
    'A call with a template of another application is refused with 404.',
    async (run) => {
      const { id: templateId } = run.needs(await createdTemplate(run), 'a template')
      const as = { credential: (await tokensOfRun(run)).reading }
      needsStatus(run, await run.call(templates.submit, { templateId: UNKNOWN_TEMPLATE }, { as }), 404)
      run.refuses(await run.call(templates.submit, { templateId }, { as }), 404)
    },
  ),
  ...failures.map(({ name, what, status, code, needs, call, ...options }) =>
    probe(name, `${what} has the code ${code}.`, { needs, ...options }, async (run) => {
      const response = await call(run)
      needsStatus(run, response, status)
      run.refuses(response, status, code)
    }),
  ),
]
