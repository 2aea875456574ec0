import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseLine, withSum } from '../../../src/files/summed-lines.js'
import { Bulk, issuer } from '../../support/cli/bulk.js'
import { isRest, sampleOf } from '../../support/extent.js'

const ids = ['a', 'b,"c"\nd', 'e']
const LF = 0x0a

/** The files of a complete run, in which a test damages a file and resumes. */
async function completeRun(out: string) {
  const rows = ids.map((id) => `${JSON.stringify({ external_issue_id: id, recipient_user_id: 'u' })}\n`)
  const bulk = new Bulk(rows.join(''), { name: 'in.ndjson', out })
  const { baseUrl, received } = await issuer()
  const run = () => bulk.run(baseUrl, ['--concurrency', '1', '--resume'])
  expect((await run()).exit).toBe(0)
  const journal = readFileSync(`${bulk.out}.journal`)
  const results = readFileSync(bulk.out)
  /** Resumes the run with these files in place of its own. */
  const resume = async (files: { readonly journal?: Buffer; readonly results?: Buffer }) => {
    writeFileSync(`${bulk.out}.journal`, files.journal ?? journal)
    writeFileSync(bulk.out, files.results ?? results)
    received.length = 0
    const { exit, stderr } = await run()
    return { exit, stderr, calls: received.length, results: readFileSync(bulk.out) }
  }
  return { bulk, journal, results, run, resume }
}

const flipped = (bytes: Buffer, at: number) => {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] as number) ^ (1 << (at % 8))
  return copy
}

/** Every 37th offset from `first` on, and the offsets around line ends: the part that runs here. */
function offsetsIn(bytes: Buffer, first: number): number[] {
  const all = Array.from(bytes.keys()).slice(first)
  return sampleOf(all.filter((at) => at % 37 === 0 || bytes.subarray(at - 1, at + 2).includes(LF)))
}

/** Tests without a part. */
const whole = test.skipIf(isRest)

const outs = ['out.csv', 'out.ndjson']

test.each(outs)('%s repeats no row if its journal was cut', { tags: 'journal-of-bulk-commands/1' }, async (out) => {
  const { journal, results, resume } = await completeRun(out)
  const first = journal.indexOf(LF) + 1
  for (const at of [...offsetsIn(journal, first), journal.length]) {
    const cut = journal.subarray(0, at)
    const listed = cut.toString().split('\n').length - 2
    const again = await resume({ journal: cut })
    expect([at, again.exit, again.stderr, again.calls]).toEqual([at, 0, '', ids.length - listed])
    expect(again.results).toEqual(results)
  }
})

test.each(outs)('%s repeats no row if its journal is damaged', { tags: 'journal-of-bulk-commands/1' }, async (out) => {
  const { journal, results, resume } = await completeRun(out)
  const first = journal.indexOf(LF) + 1
  const last = journal.lastIndexOf(LF, -2) + 1
  for (const at of offsetsIn(journal, first)) {
    const again = await resume({ journal: flipped(journal, at) })
    // Only the last result is requested again, because no result behind it is listed.
    const isLast = at >= last - 1
    expect([at, again.exit, again.calls]).toEqual([at, 0, at === last - 1 ? 2 : Number(isLast)])
    const isNamed = /out\.\w+\.journal line \d is damaged/.test(again.stderr)
    expect([at, isNamed]).toEqual([at, at < journal.length - 1])
    expect(again.results).toEqual(results)
  }
})

test.each(outs)('--resume cuts from %s what no journal lists', { tags: 'journal-of-bulk-commands/2' }, async (out) => {
  const { bulk, results, run, resume } = await completeRun(out)
  const [head = ''] = out === 'out.csv' ? results.toString().split('\n', 1) : []
  for (const tail of ['5', '5,"x\n\n', `${head}\n`, '{"line":', '\0'.repeat(400), '5,x,y\n6,z,z\n']) {
    const again = await resume({ results: Buffer.concat([results, Buffer.from(tail)]) })
    expect([tail, again]).toEqual([tail, { exit: 0, stderr: '', calls: 0, results }])
  }
  const stderr = expect.stringContaining(`${bulk.out} lacks results that its journal lists`)
  for (const at of offsetsIn(results, 0)) {
    const cut = results.subarray(0, at)
    const again = await resume({ results: cut })
    expect([at, again]).toEqual([at, { exit: 2, stderr, calls: 0, results: cut }])
  }
  rmSync(bulk.out)
  expect(await run()).toMatchObject({ exit: 2, stderr })
})

test.each(outs)('--resume leaves a damaged %s as it is', { tags: 'journal-of-bulk-commands/1' }, async (out) => {
  const { results, resume } = await completeRun(out)
  for (const at of offsetsIn(results, 0)) {
    const damaged = flipped(results, at)
    const again = await resume({ results: damaged })
    expect([at, [0, 2].includes(again.exit), again.calls]).toEqual([at, true, 0])
    expect(again.results).toEqual(damaged)
  }
})

whole('issue-many --resume continues a journal of version 2, which lists offsets', async () => {
  const { journal, results, resume } = await completeRun('out.csv')
  const [header, ...entries] = journal
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => ({ ...parseLine(Buffer.from(line)) }))
  const lines = [{ ...header, version: 2 }, ...entries.slice(0, -1).map((it, i) => ({ ...it, end: 200 * (i + 1) }))]
  const again = await resume({ journal: Buffer.from(lines.map(withSum).join('')) })
  expect(again).toEqual({ exit: 0, stderr: '', calls: 1, results })
})

test('--resume refuses a journal with a damaged first line', { tags: 'journal-of-bulk-commands/2' }, async () => {
  const { journal, results, resume } = await completeRun('out.csv')
  for (const at of offsetsIn(journal.subarray(0, journal.indexOf(LF) + 1), 0)) {
    const again = await resume({ journal: flipped(journal, at) })
    const stderr = expect.stringContaining('or its line 1 is damaged')
    expect([at, again]).toEqual([at, { exit: 2, stderr, calls: 0, results }])
  }
})

whole('issue-many --resume exits 2 for results without a journal', async () => {
  const { results, resume } = await completeRun('out.csv')
  const stderr = expect.stringContaining('.journal is missing or has no complete line')
  expect(await resume({ journal: Buffer.alloc(0) })).toEqual({ exit: 2, stderr, calls: 0, results })
})

whole('issue-many --resume exits 2 for a journal that another version wrote', async () => {
  const { results, resume } = await completeRun('out.csv')
  const header = withSum({ journal: 'voucherctl vouchers issue-many', version: 99, template: 'tpl_1' })
  const stderr = expect.stringContaining('is a journal of another version of voucherctl')
  expect(await resume({ journal: Buffer.from(header) })).toEqual({ exit: 2, stderr, calls: 0, results })
})

whole('issue-many --resume skips a journal line that a power failure has overwritten with zeros', async () => {
  const { journal, results, resume } = await completeRun('out.csv')
  const second = journal.indexOf(LF, journal.indexOf(LF) + 1) + 1
  const again = await resume({ journal: Buffer.from(journal).fill(0, second, second + 20) })
  expect(again).toEqual({ exit: 0, stderr: expect.stringContaining('line 3 is damaged'), calls: 0, results })
})

whole('issue-many --resume from a pipe identifies rows by key, also those with a damaged line', async () => {
  const bulk = new Bulk('')
  const { baseUrl, received } = await issuer()
  const run = async (...rows: readonly string[]) => {
    const stdin = `external_issue_id,recipient_user_id\n${rows.map((id) => `${id},u\n`).join('')}`
    expect((await bulk.pipe(baseUrl, stdin, ['--resume'])).exit).toBe(0)
  }
  await run('a')
  await run('b')
  // Both results have line 2. If the entry of the second result matched the first, the second would be cut.
  const journal = readFileSync(`${bulk.out}.journal`)
  const first = journal.indexOf(LF) + 1
  writeFileSync(`${bulk.out}.journal`, flipped(journal, first))
  const results = readFileSync(bulk.out)
  received.length = 0
  await run('b', 'a')
  expect([received.length, readFileSync(bulk.out)]).toEqual([0, results])
})
