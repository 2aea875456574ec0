import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { loadJournal } from '../../../src/cli/bulk/journal.js'
import { withSum } from '../../../src/files/summed-lines.js'
import { Bulk, idsOf, issuer } from '../../support/cli/bulk.js'

const ids = idsOf(4)

/** Files as after a kill: the journal is cut after `journalBytes`, `tail` is appended to the results. */
async function killedAt(journalBytes: (whole: string) => number, tail = '') {
  const bulk = Bulk.of(ids)
  const { baseUrl, issued } = await issuer()
  await bulk.run(baseUrl)
  const journal = `${bulk.out}.journal`
  const whole = readFileSync(journal, 'utf8')
  truncateSync(journal, journalBytes(whole))
  writeFileSync(bulk.out, tail, { flag: 'a' })
  return { bulk, baseUrl, issued, whole }
}

test('issue-many --resume writes every voucher once if the journal is cut at any byte', async () => {
  const bulk = Bulk.of(ids)
  const { baseUrl, issued } = await issuer()
  await bulk.run(baseUrl)
  const journal = `${bulk.out}.journal`
  const [whole, results] = [readFileSync(journal), readFileSync(bulk.out)]
  const lineEnds = [...whole.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1)
  const [head = 0, second = 0] = lineEnds
  for (let bytes = head; bytes <= whole.length; bytes += 1) {
    writeFileSync(journal, whole.subarray(0, bytes))
    const loaded = loadJournal(journal)
    const wholeLines = lineEnds.filter((end) => end <= bytes)
    expect([bytes, loaded.end, loaded.done.size]).toEqual([bytes, wholeLines.at(-1), wholeLines.length - 1])
    expect(loaded.damaged).toEqual([])
  }
  for (const bytes of [head, head + 1, second - 1, second, second + 40, whole.length - 1, whole.length]) {
    writeFileSync(bulk.out, results)
    writeFileSync(journal, whole.subarray(0, bytes))
    const { exit } = await bulk.run(baseUrl, ['--resume'])
    expect([bytes, exit, bulk.ids().sort()]).toEqual([bytes, 0, ids])
    expect(loadJournal(journal).done.size).toBe(4)
  }
  expect(issued.size).toBe(4)
})

test('issue-many --resume drops results that the journal does not list and reissues their rows', async () => {
  const { bulk, baseUrl } = await killedAt((whole) => whole.trimEnd().lastIndexOf('\n') + 1, '5,order-9,us')
  expect((await bulk.run(baseUrl, ['--resume'])).exit).toBe(0)
  expect(bulk.ids().sort()).toEqual(ids)
  expect(bulk.read('out.csv')).not.toContain('order-9')
})

test('issue-many --resume issues every row after a kill before the first result', async () => {
  const { bulk, baseUrl } = await killedAt((whole) => whole.indexOf('\n') + 1)
  truncateSync(bulk.out, 0)
  expect((await bulk.run(baseUrl, ['--resume'])).exit).toBe(0)
  expect(bulk.ids().sort()).toEqual(ids)
})

const flipped = (bytes: Buffer, at: number) => {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] as number) ^ (1 << (at % 8))
  return copy
}

test('issue-many --resume writes each row once if any byte of a journal line is damaged', async () => {
  for (const [out, ids] of [
    ['out.csv', idsOf(3)],
    ['out.ndjson', ['a']],
  ] as const) {
    const bulk = Bulk.of(ids, { out })
    const { baseUrl, issued } = await issuer()
    await bulk.run(baseUrl, ['--concurrency', '1'])
    const path = `${bulk.out}.journal`
    const journal = readFileSync(path)
    const results = readFileSync(bulk.out)
    const first = journal.indexOf('\n') + 1
    for (let at = first; at < journal.length; at += 1) {
      writeFileSync(path, flipped(journal, at))
      const { damaged, done, identity } = loadJournal(path)
      // Without its line end, a line merges with the next one; the last line becomes incomplete.
      const lost = journal[at] === 0x0a && at < journal.length - 1 ? 2 : 1
      const named = at < journal.length - 1 ? 1 : 0
      expect([at, identity !== undefined, damaged.length, done.size]).toEqual([at, true, named, ids.length - lost])
    }
    const keyAt = journal.indexOf('"key":"issue-many-')
    const endAt = journal.indexOf('"end":')
    const secondEnd = journal.indexOf('\n', first)
    for (const at of [first, keyAt + 20, endAt + 6, secondEnd - 1, secondEnd, journal.length - 2, journal.length - 1]) {
      writeFileSync(bulk.out, results)
      writeFileSync(path, flipped(journal, at))
      const { exit, stderr } = await bulk.run(baseUrl, ['--resume'])
      const isNamed = /out\.\w+\.journal line \d is damaged/.test(stderr)
      const lines = (text: string | Buffer) => text.toString().trimEnd().split('\n').sort()
      expect([at, exit, isNamed, lines(bulk.read(out))]).toEqual([at, 0, at < journal.length - 1, lines(results)])
    }
    expect(issued.size).toBe(ids.length)
  }
})

test('issue-many --resume refuses a journal with a damaged first line and changes no results', async () => {
  const bulk = Bulk.of(ids)
  const { baseUrl, received } = await issuer()
  await bulk.run(baseUrl)
  const journal = readFileSync(`${bulk.out}.journal`)
  const results = bulk.read('out.csv')
  received.length = 0
  for (let at = 0; at <= journal.indexOf('\n'); at += 1) {
    writeFileSync(`${bulk.out}.journal`, flipped(journal, at))
    expect([at, loadJournal(`${bulk.out}.journal`).identity]).toEqual([at, undefined])
  }
  const { exit, stderr } = await bulk.run(baseUrl, ['--resume'])
  expect([exit, stderr]).toEqual([2, expect.stringContaining('or its line 1 is damaged')])
  expect([bulk.read('out.csv'), received]).toEqual([results, []])
})

test('issue-many --resume exits 2 for a journal that another version wrote', async () => {
  const bulk = Bulk.of(ids)
  const { baseUrl } = await issuer()
  const header = withSum({ journal: 'voucherctl vouchers issue-many', version: 99, template: 'tpl_1' })
  writeFileSync(`${bulk.out}.journal`, header)
  const { exit, stderr } = await bulk.run(baseUrl, ['--resume'])
  expect([exit, stderr]).toEqual([2, expect.stringContaining('is a journal of another version of voucherctl')])
})

test('issue-many --resume writes each code once if an idempotency key in the journal is damaged', async () => {
  const bulk = Bulk.of(ids)
  const { baseUrl } = await issuer()
  expect((await bulk.run(baseUrl, ['--concurrency', '1'])).exit).toBe(0)
  const journal = readFileSync(`${bulk.out}.journal`)
  writeFileSync(`${bulk.out}.journal`, flipped(journal, journal.indexOf('"key":"issue-many-') + 20))
  const { exit, stdout, stderr } = await bulk.run(baseUrl, ['--concurrency', '1', '--resume', '--json'])
  expect([exit, stderr]).toEqual([
    0,
    expect.stringMatching(/^warning: .*out\.csv\.journal line 2 is damaged\. [^\n]+\n$/),
  ])
  expect([JSON.parse(stdout).skipped, bulk.ids().sort()]).toEqual([4, ids])
})

test('issue-many --resume skips a journal line that a power failure has overwritten with zeros', async () => {
  const { bulk, baseUrl, whole } = await killedAt((text) => text.length)
  const second = whole.indexOf('\n', whole.indexOf('\n') + 1) + 1
  const damaged = Buffer.from(whole)
  damaged.fill(0, second, second + 20)
  writeFileSync(`${bulk.out}.journal`, damaged)
  expect(loadJournal(`${bulk.out}.journal`).done.size).toBe(3)
  expect((await bulk.run(baseUrl, ['--resume'])).exit).toBe(0)
  expect(bulk.ids().sort()).toEqual(ids)
})
