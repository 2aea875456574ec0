import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { contract } from '../../src/contract/index.js'
import type { Op } from '../../src/store/operation.js'
import type { Store } from '../../src/store/store.js'
import { testApp } from '../support/server/app.js'
import { codeOf, newTenant } from '../support/server/tenant.js'
import { openTestStore } from '../support/store/engines.js'

const inOneLine = (sql: string) => sql.replace(/\s+/g, ' ').trim()

/** A store that also passes the SQL of its operations to `run`. */
function recording(store: Store, run: (sql: string) => void): Store {
  function* recorded<T>(op: () => Op<T>): Op<T> {
    const steps = op()
    let step = steps.next()
    while (!step.done) {
      const { value } = step
      for (const it of value.kind === 'several' ? value.statements : [value]) if ('sql' in it) run(inOneLine(it.sql))
      step = steps.next(yield value)
    }
    return step.value
  }
  return {
    ...store,
    read: (op) => store.read(() => recorded(op)),
    write: (op, group) => store.write(() => recorded(op), group),
  }
}

test('floor of the benchmark contains every SQL statement of an issue, a verify and a redeem', async () => {
  const programs = ['floor.js', 'floor-plus.js'].map((name) => new URL(`programs/${name}`, import.meta.url))
  const floor = inOneLine(programs.map((url) => readFileSync(url, 'utf8')).join('\n'))
  const statements = new Set<string>()
  const store = openTestStore()
  const server = testApp({ store: recording(store, (sql) => statements.add(sql)) })
  onTestFinished(async () => {
    await server.close()
    await store.close()
  })
  const tenant = await newTenant(server)
  const { id: templateId } = await tenant.template()
  statements.clear()

  const voucher = await tenant.issue(templateId)
  await tenant.runtime(contract.vouchers.verify, { credential: codeOf(voucher) })
  await tenant.redeem(voucher)

  expect([...statements].filter((sql) => !floor.includes(sql))).toEqual([])
  expect(statements.size).toBe(12)
})
