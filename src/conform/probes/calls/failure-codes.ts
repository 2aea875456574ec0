import { contract } from '../../../contract/index.js'
import { tryIssue } from '../../fixtures.js'
import { type DefineProbe, probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import {
  anonymousRead,
  listAs,
  tokensOfRun,
  UNKNOWN_REDEMPTION,
  UNKNOWN_TEMPLATE,
  verifyJson,
  verifyWith,
} from './shared.js'

const probe = probesOf('failure-codes')
const anonymous = probe.with({ reads: true })
const token = probe.with({ needs: ['token'] })
const voucher = probe.with({ needs: ['token', 'template'] })
const account = probe.with({ needs: ['jwt'] })
const accountRead = account.with({ reads: true })
const { apps, bots, vouchers } = contract

const unknownToken = (it: ProbeContext) => listAs(it, 'conform')

/** Defines a probe for a failure code that only the failure table specifies; another rule specifies the status. */
const hasCode = (
  define: DefineProbe,
  what: string,
  status: number,
  code: string,
  call: (it: ProbeContext) => Promise<Observed>,
) =>
  define(3, code.toLowerCase().replaceAll('_', '-'), `${what} has the code ${code}.`, async (run) => {
    const response = await call(run)
    run.needsRefusal(response, status)
    run.refuses(response, status, code)
  })

export const failureCodes = [
  anonymous.specified(1, 'invalid-token', 'A call with an invalid token is refused with 401.', async (run) =>
    run.refuses(await unknownToken(run), 401),
  ),
  hasCode(anonymous, 'A call without a credential', 401, 'TOKEN_MISSING', anonymousRead),
  hasCode(anonymous, 'A call with an invalid token', 401, 'TOKEN_INVALID', unknownToken),
  hasCode(account, 'A call with a revoked token', 401, 'TOKEN_REVOKED', async (it) =>
    listAs(it, (await tokensOfRun(it)).revoked),
  ),
  hasCode(account, 'A call without its scope', 403, 'INSUFFICIENT_SCOPE', async (it) =>
    listAs(it, (await tokensOfRun(it)).narrow),
  ),
  hasCode(anonymous, 'A call for an unknown path', 404, 'ROUTE_NOT_FOUND', (it) =>
    it.send({ method: 'GET', path: '/api/v1/open-platform/conform', headers: {} }),
  ),
  hasCode(anonymous, 'A call with a method that its path does not take', 405, 'METHOD_NOT_ALLOWED', (it) =>
    it.send({ method: 'GET', path: vouchers.issue.path, headers: {} }),
  ),
  hasCode(token, 'An issue from an unknown template', 404, 'TEMPLATE_NOT_FOUND', (it) =>
    tryIssue(it, { template_id: UNKNOWN_TEMPLATE }),
  ),
  hasCode(token.with({ reads: true }), 'A read of an unknown redemption', 404, 'REDEMPTION_NOT_FOUND', (it) =>
    it.call(vouchers.redemption, { redemptionId: UNKNOWN_REDEMPTION }),
  ),
  hasCode(accountRead, 'A read of an unknown application', 404, 'APPLICATION_NOT_FOUND', (it) =>
    it.call(apps.get, { appId: 'app_00000000000000000000000000' }),
  ),
  hasCode(accountRead, 'A read of an unknown bot', 404, 'BOT_NOT_FOUND', (it) =>
    it.call(bots.metrics, { botId: 'bot_00000000000000000000000000' }),
  ),
  hasCode(token.with({ plain: true }), 'A call whose body is malformed', 400, 'INVALID_JSON', (it) =>
    verifyWith(it, '{'),
  ),
  hasCode(voucher, 'A call whose body is too large', 413, 'PAYLOAD_TOO_LARGE', async (it) =>
    verifyWith(it, await verifyJson(it, { recipient_user_id: 'a'.repeat(65_536) })),
  ),
  hasCode(voucher, 'A call whose body is text/plain', 415, 'UNSUPPORTED_MEDIA_TYPE', async (it) =>
    verifyWith(it, await verifyJson(it), { 'content-type': 'text/plain' }),
  ),
]
