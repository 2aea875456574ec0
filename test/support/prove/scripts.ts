import { expect } from 'vitest'
import { cli, type Given, type Ran, temporaryDir } from '../cli/cli.js'
import { processesWith, until } from './processes.js'

const api = '"$VOUCHERCTL_BASE_URL/api/v1/open-platform/vouchers'
const curl = 'curl -fsS --max-time 5 -o /dev/null -H "Authorization: Bearer $VOUCHERCTL_TOKEN"'

/** A shell command that lists templates. */
export const listTemplates = `${curl} ${api}/templates"`

/** A shell command that redeems the voucher, with one key for all runs. */
export const redeemVoucher =
  `${curl} -H 'Content-Type: application/json' -H 'Idempotency-Key: order-1' ` +
  `-d "{\\"credential\\":{\\"type\\":\\"redeem_code\\",\\"value\\":\\"$VOUCHERCTL_CODE\\"}}" ${api}/redeem"`

export interface ProvedScript extends Ran {
  readonly home: string
}

/** Runs `voucherctl prove` with a shell script as the action; its processes inherit PROVE_HOME. */
export async function proveScript(
  script: string,
  flags: readonly string[] = [],
  given: Given = {},
): Promise<ProvedScript> {
  const home = given.home ?? temporaryDir()
  const env = { PATH: process.env.PATH ?? '', PROVE_HOME: home }
  return { ...(await cli(['prove', ...flags, '--', 'sh', '-c', script], { ...given, home, env })), home }
}

/** Expects exit code 2 with a sentence and a cure, nothing on stdout, and no process left. */
export async function expectRefusal({ exit, stdout, stderr, home }: ProvedScript, sentence: RegExp, cure: RegExp) {
  expect(stderr).toMatch(sentence)
  expect(stderr).toMatch(cure)
  expect([exit, stdout]).toEqual([2, ''])
  await until(() => processesWith(`PROVE_HOME=${home}`).length === 0)
}
