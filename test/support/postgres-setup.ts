import type { TestProject } from 'vitest/node'
import { startPostgres } from './postgres-server.js'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
  }
}

/** One server for the whole run; each test has a database of it for itself. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres()
  project.provide('postgresUrl', server.url)
  return () => server.remove()
}
