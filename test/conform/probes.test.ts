import { beforeAll, expect, test } from 'vitest'
import { startReference } from '../support/conform/conform.js'
import { MAX_WAIT_MS, probesByRule, reviewed } from '../support/conform/probes-by-rule.js'

const byRule = probesByRule()
const nameOf = (rule: string) => `reference server follows rule ${rule}`
/** Verdicts, or results that do not hold, by the id of their probe. */
const results = new Map<string, unknown>()

async function run(only: readonly string[], autoApprove: boolean): Promise<void> {
  if (only.length === 0) return
  const reference = await startReference({ rateLimit: true, autoApprove })
  const run = await reference.run({ only, maxWaitMs: MAX_WAIT_MS })
  await reference.close()
  for (const it of run.results) results.set(it.probe, it.result === 'holds' ? 'holds' : it)
}

beforeAll(async ({}, { tasks }) => {
  // With --tags-filter or -t only some of the tests run.
  const wanted = new Set(tasks.flatMap(({ name, mode }) => (mode === 'run' ? [name] : [])))
  const probes = [...byRule].flatMap(([rule, it]) => (wanted.has(nameOf(rule)) ? it : []))
  await run(
    probes.filter((it) => !reviewed.includes(it)),
    true,
  )
  await run(
    probes.filter((it) => reviewed.includes(it)),
    false,
  )
})

for (const [rule, probes] of byRule) {
  test(nameOf(rule), { tags: rule }, () => {
    const others = probes.filter((it) => results.get(it) !== 'holds')
    const found = others.map((it) => results.get(it) ?? it)
    expect(found, others.join(', ')).toEqual([])
  })
}
