import { copyFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadJournal } from '../../../src/cli/bulk/journal.js'
import { built } from '../../support/built-cli.js'
import { Bulk, idsOf, issuer } from '../../support/bulk.js'
import { secrets } from '../../support/cli.js'

const ids = idsOf(4)

/** A finished run, and the state in which a kill leaves it: the journal ends anywhere, the results are ahead of it. */
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

test('wherever the journal is torn, --resume brings every voucher into the results exactly once', async () => {
  const bulk = Bulk.of(ids)
  const { baseUrl, issued } = await issuer()
  await bulk.run(baseUrl)
  const whole = readFileSync(`${bulk.out}.journal`, 'utf8')
  const saved = join(bulk.dir, 'saved')
  mkdirSync(saved)
  for (const name of ['out.csv', 'out.csv.journal']) copyFileSync(join(bulk.dir, name), join(saved, name))
  for (let bytes = whole.indexOf('\n') + 1; bytes <= whole.length; bytes += 1) {
    for (const name of ['out.csv', 'out.csv.journal']) copyFileSync(join(saved, name), join(bulk.dir, name))
    truncateSync(`${bulk.out}.journal`, bytes)
    const { exit } = await bulk.run(baseUrl, ['--resume'])
    expect([bytes, exit, bulk.ids().sort()]).toEqual([bytes, 0, ids])
    expect(loadJournal(`${bulk.out}.journal`).done.size).toBe(4)
  }
  expect(issued.size).toBe(4)
}, 60_000)

test('results that the journal does not know are cut off, also half a line, and asked for again', async () => {
  const { bulk, baseUrl } = await killedAt((whole) => whole.trimEnd().lastIndexOf('\n') + 1, '5,order-9,us')
  expect((await bulk.run(baseUrl, ['--resume'])).exit).toBe(0)
  expect(bulk.ids().sort()).toEqual(ids)
  expect(bulk.read('out.csv')).not.toContain('order-9')
})

test('a run that was killed before its first result begins anew', async () => {
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

test('whatever byte of its rows is damaged, --resume brings each row into the results exactly once', async () => {
  for (const [out, ids] of [
    ['out.csv', idsOf(3)],
    ['out.ndjson', ['a']],
  ] as const) {
    const bulk = Bulk.of(ids, { out })
    const { baseUrl, issued } = await issuer()
    await bulk.run(baseUrl, ['--concurrency', '1'])
    const journal = readFileSync(`${bulk.out}.journal`)
    const results = readFileSync(bulk.out)
    for (let at = journal.indexOf('\n') + 1; at < journal.length; at += 1) {
      writeFileSync(bulk.out, results)
      writeFileSync(`${bulk.out}.journal`, flipped(journal, at))
      const { exit, stderr } = await bulk.run(baseUrl, ['--resume'])
      const isNamed = /out\.\w+\.journal line \d is damaged/.test(stderr)
      const lines = (text: string | Buffer) => text.toString().trimEnd().split('\n').sort()
      expect([at, exit, isNamed, lines(bulk.read(out))]).toEqual([at, 0, at < journal.length - 1, lines(results)])
    }
    expect(issued.size).toBe(ids.length)
  }
}, 120_000)

test('a journal is refused when any byte of its first line is damaged, and the results stay as they are', async () => {
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

test('a journal of an older version is refused as such', async () => {
  const bulk = Bulk.of(ids)
  const { baseUrl } = await issuer()
  writeFileSync(`${bulk.out}.journal`, '{"journal":"voucherctl vouchers issue-many","version":1,"template":"tpl_1"}\n')
  const { exit, stderr } = await bulk.run(baseUrl, ['--resume'])
  expect([exit, stderr]).toEqual([2, expect.stringContaining('is a journal of another version of voucherctl')])
})

test('the built command prints no code twice when a key in the journal is damaged', async () => {
  const bulk = Bulk.of(ids)
  const { baseUrl } = await issuer()
  const args = bulk.args(baseUrl, '--concurrency', '1')
  expect((await built.run(args, bulk.dir, secrets)).exit).toBe(0)
  const journal = readFileSync(`${bulk.out}.journal`)
  writeFileSync(`${bulk.out}.journal`, flipped(journal, journal.indexOf('"key":"issue-many-') + 20))
  const { exit, stdout, stderr } = await built.run([...args, '--resume', '--json'], bulk.dir, secrets)
  expect([exit, stderr]).toEqual([
    0,
    expect.stringMatching(/^warning: .*out\.csv\.journal line 2 is damaged\. [^\n]+\n$/),
  ])
  expect([JSON.parse(stdout).skipped, bulk.ids().sort()]).toEqual([4, ids])
})

test('a journal line that a power failure has zeroed is passed over', async () => {
  const { bulk, baseUrl, whole } = await killedAt((text) => text.length)
  const second = whole.indexOf('\n', whole.indexOf('\n') + 1) + 1
  const damaged = Buffer.from(whole)
  damaged.fill(0, second, second + 20)
  writeFileSync(`${bulk.out}.journal`, damaged)
  expect(loadJournal(`${bulk.out}.journal`).done.size).toBe(3)
  expect((await bulk.run(baseUrl, ['--resume'])).exit).toBe(0)
  expect(bulk.ids().sort()).toEqual(ids)
})
