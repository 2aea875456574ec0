import { Client } from 'pg'
import { migrations } from '../../../src/store/postgres/migrations.js'

/** Tables that an operator may partition by application. */
export const runtimeTables = ['templates', 'vouchers', 'redemptions', 'idempotency_keys'] as const

/**
 * SQL of the current schema in which the runtime tables are partitioned by a hash of application_id and otherwise
 * unchanged. Proves that an operator can partition these tables.
 */
export function partitionedSchema(partitions: number): string {
  let sql = migrations.map((it) => it.sql).join('\n')
  for (const table of runtimeTables) {
    const created = new RegExp(`^create table ${table} \\(([^;]*)\\n\\)( with \\([^)]*\\))?;`, 'm')
    if (!created.test(sql)) throw new Error(`no migration creates ${table} as it is looked for here`)
    sql = sql.replace(created, (_, columns: string, storage = '') => {
      const parts = Array.from(
        { length: partitions },
        (_it, index) => `create table ${table}_${index} partition of ${table}
  for values with (modulus ${partitions}, remainder ${index})${storage};`,
      )
      return `create table ${table} (${columns}\n) partition by hash (application_id);\n${parts.join('\n')}`
    })
  }
  return `begin; ${sql}
create table voucherctl_schema (version integer not null);
insert into voucherctl_schema (version) values (${migrations.length}); commit`
}

/** @param url URL of an empty database */
export async function createPartitioned(url: string, partitions: number): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(partitionedSchema(partitions))
  } finally {
    await client.end()
  }
}
