import type { TestProject } from 'vitest/node'
import { versionStep } from '../../../src/store/postgres/migrate.js'
import { migrations } from '../../../src/store/postgres/migrations.js'
import { query } from './query.js'
import { startPostgres } from './server.js'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
  }
}

/** Global set-up: starts the PostgreSQL server of the test run and a template for test databases. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres()
  await query(server.url, 'create database voucherctl_template')
  const tables = [...migrations, versionStep(migrations.length)].map((it) => it.sql).join('\n')
  await query(server.url.replace(/\/postgres$/, '/voucherctl_template'), `begin; ${tables}; commit`)
  project.provide('postgresUrl', server.url)
  return () => server.remove()
}
