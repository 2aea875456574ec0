import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cli, type Received, type Stub, type StubResponse, secrets, stub, success, temporaryDir } from './cli.js'
import { voucher } from './samples.js'

/** Redeem code of the fake voucher with this external issue id. */
export const codeOf = (id: string) => `CODE-${id}`

/** A fake server that issues one voucher per external issue id and returns a replay for a repeated request. */
export async function issuer(
  refuse: (id: string, call: number, request: Received) => StubResponse | undefined = () => undefined,
) {
  const issued = new Map<string, number>()
  const server: Stub = await stub((request, index) => {
    // The list of templates that a prompt asks for.
    if (request.method === 'GET') return success({ items: [] })
    const { external_issue_id: id, recipient_user_id: to } = request.body as Record<string, string>
    const refused = refuse(id as string, index, request)
    if (refused !== undefined && !refused.drop) return refused
    const before = issued.get(id as string) ?? 0
    issued.set(id as string, before + 1)
    if (refused?.drop) return refused
    const credentials = [
      { type: 'redeem_code', value: codeOf(id as string) },
      { type: 'qr_token', value: `QR-${id}` },
    ]
    const data = { ...voucher, id: `vch_${id}`, externalIssueId: id, recipientUserId: to, credentials }
    return before === 0 ? success(data, 201) : { ...success(data), headers: { 'idempotent-replayed': 'true' } }
  })
  return { ...server, issued }
}

export const idsOf = (count: number) => Array.from({ length: count }, (_, i) => `order-${i}`)

/** Variables with credentials, and with the configuration of a production profile for this server. */
export function productionEnv(baseUrl: string) {
  const env = { ...secrets, VOUCHERCTL_CONFIG_DIR: temporaryDir() }
  const config = { current: 'live', profiles: { live: { base_url: baseUrl, production: true } } }
  writeFileSync(join(env.VOUCHERCTL_CONFIG_DIR, 'config.json'), JSON.stringify(config), { mode: 0o600 })
  return env
}

/** A folder with an input file of `vouchers issue-many`, its command line and its results. */
export class Bulk {
  readonly dir = temporaryDir()
  readonly input: string
  readonly out: string

  constructor(
    content: string | Buffer,
    { name = 'in.csv', out = 'out.csv' }: { readonly name?: string; readonly out?: string } = {},
  ) {
    this.input = join(this.dir, name)
    this.out = join(this.dir, out)
    writeFileSync(this.input, content)
  }

  static of(ids: readonly string[], names?: { readonly name?: string; readonly out?: string }): Bulk {
    return new Bulk(`external_issue_id,recipient_user_id\n${ids.map((id) => `${id},user-${id}\n`).join('')}`, names)
  }

  args(baseUrl: string, ...more: readonly string[]): string[] {
    const own = ['vouchers', 'issue-many', this.input, '--template', 'tpl_1', '--out', this.out]
    return [...own, '--base-url', baseUrl, '--retries', '0', ...more]
  }

  run(baseUrl: string, more: readonly string[] = [], given: Parameters<typeof cli>[1] = {}) {
    return cli(this.args(baseUrl, ...more), { env: secrets, home: this.dir, ...given })
  }

  /** Runs the command with this text on standard input in place of its file. */
  pipe(baseUrl: string, stdin: string, more: readonly string[] = []) {
    const args = this.args(baseUrl, ...more).map((it) => (it === this.input ? '-' : it))
    return cli(args, { env: secrets, home: this.dir, stdin })
  }

  read(name: string): string {
    return readFileSync(join(this.dir, name), 'utf8')
  }

  /** Parses an output file of the folder: CSV without quoted values. */
  rows(name = 'out.csv'): Record<string, string>[] {
    const [head = '', ...lines] = this.read(name).trimEnd().split('\n')
    const names = head.split(',')
    return lines.map((line) => Object.fromEntries(line.split(',').map((value, i) => [names[i], value])))
  }

  /** External issue ids in the results file. */
  ids(): string[] {
    return this.rows().map((it) => it.external_issue_id as string)
  }
}
