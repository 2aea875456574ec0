import { copyFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadJournal } from '../../../src/cli/bulk/journal.js'
import { Bulk, idsOf, issuer } from '../../support/bulk.js'

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
    expect((await loadJournal(`${bulk.out}.journal`)).done.size).toBe(4)
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

test('what a power failure has left unreadable in the middle ends the journal there', async () => {
  const { bulk, baseUrl, whole } = await killedAt((text) => text.length)
  const second = whole.indexOf('\n', whole.indexOf('\n') + 1) + 1
  const damaged = Buffer.from(whole)
  damaged.fill(0, second, second + 20)
  writeFileSync(`${bulk.out}.journal`, damaged)
  expect((await loadJournal(`${bulk.out}.journal`)).done.size).toBe(1)
  expect((await bulk.run(baseUrl, ['--resume'])).exit).toBe(0)
  expect(bulk.ids().sort()).toEqual(ids)
})
