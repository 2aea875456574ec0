import type { Credential } from '../../../src/contract/vouchers.js'
import { type InternalOptions, startTestServer } from '../../../src/testing/test-server.js'
import type { StartOptions, TestServer } from '../../../src/testing/types.js'
import { codeOf, serial } from '../server/tenant.js'

/** A server with the default records, for tests of commands. */
export interface CliServer extends Pick<TestServer, 'baseUrl' | 'client' | 'token' | 'operatorKey' | 'close'> {
  /** Account token of the seed. */
  readonly jwt: string
  /** Environment with the address and all three credentials. */
  readonly env: Readonly<Record<string, string>>
  /** Issues a voucher of `tpl_coffee`; returns its id and its redeem code. */
  issue(): Promise<{ readonly id: string; readonly credential: Credential }>
}

/** @param internal parts of the server that a test replaces */
export async function cliServer(options: StartOptions = {}, internal: InternalOptions = {}): Promise<CliServer> {
  const { baseUrl, client, token, operatorKey, close } = await startTestServer(options, internal)
  const account = await client.platform.issueAccountToken({ accountId: 'acme' })
  const jwt = account.ok ? account.data.jwt : ''
  const credentials = { VOUCHERCTL_TOKEN: token, VOUCHERCTL_JWT: jwt, VOUCHERCTL_OPERATOR_KEY: operatorKey }
  return {
    ...{ baseUrl, client, token, operatorKey, close, jwt },
    env: { VOUCHERCTL_BASE_URL: baseUrl, ...credentials },
    async issue() {
      const order = { template_id: 'tpl_coffee', external_issue_id: `order-${serial()}`, recipient_user_id: 'user-1' }
      const issued = await client.vouchers.issue(order)
      if (!issued.ok) throw new Error(issued.code)
      return { id: issued.data.id, credential: codeOf(issued.data) }
    },
  }
}
