import { cli, type Given, type Ran, temporaryDir } from '../cli/cli.js'

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
