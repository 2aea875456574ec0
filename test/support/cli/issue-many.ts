import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { contract } from '../../../src/contract/index.js'
import { type Tenant, templateBody } from '../server/tenant.js'
import { temporaryDir } from './cli.js'

/** Arguments, environment and files of a `vouchers issue-many` command that uses a real server. */
export class IssueManyRun {
  readonly home = temporaryDir()
  readonly out = join(this.home, 'out.csv')
  readonly env: Record<string, string>
  readonly args: readonly string[]

  constructor(tenant: Tenant, baseUrl: string, template: string, rows: number) {
    const lines = Array.from({ length: rows }, (_, n) => `order-${n},user-${n}\n`)
    const input = join(this.home, 'in.csv')
    writeFileSync(input, `external_issue_id,recipient_user_id\n${lines.join('')}`)
    this.env = { VOUCHERCTL_TOKEN: tenant.token, VOUCHERCTL_BASE_URL: baseUrl }
    this.args = ['vouchers', 'issue-many', input, '--template', template, '--out', this.out, '--json']
  }

  /** Size of the results file in bytes. */
  get size(): number {
    return statSync(this.out, { throwIfNoEntry: false })?.size ?? 0
  }

  /** Asserts that the results file has each input row once, with a unique voucher id and unique codes. */
  expectWhole(rows: number): void {
    const lines = readFileSync(this.out, 'utf8')
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split(','))
    const column = (at: number) => new Set(lines.map((it) => it[at]))
    expect(lines).toHaveLength(rows)
    for (const at of [0, 1, 3, 4, 5]) expect(column(at).size).toBe(rows)
    const codes = [...column(4), ...column(5)].slice(0, 200) as string[]
    const journal = readFileSync(`${this.out}.journal`, 'utf8')
    expect(codes.filter((code) => journal.includes(code))).toEqual([])
  }
}

/** Creates a template, activates it and returns its id. */
export async function activeTemplate(tenant: Tenant, issueLimit: number): Promise<string> {
  const { data } = await tenant.runtime(contract.templates.create, templateBody({ issue_limit: issueLimit }))
  await tenant.runtime(contract.templates.submit, { templateId: data.id })
  await tenant.operator(contract.platform.approveTemplate, { templateId: data.id })
  return data.id
}

export async function issuedCount(tenant: Tenant): Promise<number | undefined> {
  return (await tenant.runtime(contract.templates.list, {})).data.items[0]?.issuedCount
}
