import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Appender } from '../../../../../src/cli/commands/vouchers/bulk/appender.js'
import { Results } from '../../../../../src/cli/commands/vouchers/bulk/results.js'
import { temporaryDir } from '../../../../support/cli.js'

const row = (line: number) => ({ line, external_issue_id: `id-${line}`, recipient_user_id: 'u' })

/** Results whose files record the order of their calls. */
async function recorded(refuse?: string) {
  const dir = temporaryDir()
  const steps: string[] = []
  const file = async (name: string) => {
    const real = await Appender.resume(join(dir, name), 0)
    onTestFinished(() => real.close())
    const act = async (what: string, does: () => Promise<void>) => {
      steps.push(`${name} ${what}`)
      if (refuse === name) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
      await does()
    }
    return {
      get end() {
        return real.end
      },
      append: (text: string) => act('append', () => real.append(text)),
      sync: () => act('sync', () => real.sync()),
      close: () => real.close(),
    } as unknown as Appender
  }
  const errors = { append: (await file('errors')).append, format: 'ndjson', wasMade: true } as const
  const files = { results: await file('results'), journal: await file('journal'), errors }
  return { steps, results: new Results({ ...files, format: 'ndjson' }) }
}

test('results are synced to disk before the journal names them', async () => {
  const { steps, results } = await recorded()
  await results.keep({ row: row(1), idempotencyKey: 'k', voucher: { id: 'vch_1' } })
  await results.keep({ row: row(2), idempotencyKey: 'k', failure: { code: 'C', message: 'm', requestId: null } })
  await results.close()
  expect(steps).toEqual(['results append', 'results sync', 'errors append', 'journal append'])
})

test('results that arrive during a write are written too', async () => {
  const { steps, results } = await recorded()
  await results.keep({ row: row(1), idempotencyKey: 'k', voucher: null })
  const closing = results.close()
  await results.keep({ row: row(2), idempotencyKey: 'k', voucher: null })
  await closing
  await results.close()
  expect(steps.filter((it) => it === 'journal append').length).toBeGreaterThan(0)
  expect(results.error).toBeUndefined()
})

test.each(['results', 'errors', 'journal'])(
  'a full disk of the %s file is reported and nothing is written after it',
  async (name) => {
    const { steps, results } = await recorded(name)
    await results.keep({ row: row(1), idempotencyKey: 'k', voucher: null })
    await results.keep({ row: row(2), idempotencyKey: 'k', failure: { code: 'C', message: 'm', requestId: null } })
    await results.close()
    expect(results.error).toMatchObject({ code: 'ENOSPC' })
    const before = steps.length
    await results.keep({ row: row(3), idempotencyKey: 'k', voucher: null })
    await results.close()
    expect(steps).toHaveLength(before)
    expect(steps.at(-1)).toBe(`${name} append`)
  },
)
