import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { decodeLine, Inbox } from '../../src/workbench/inbox.js'
import { InboxWriter } from '../../src/workbench/inbox-writer.js'
import { temporaryDir } from '../support/cli/cli.js'
import { sampleOf } from '../support/extent.js'
import { delivery, fileIn, lineStarts, writeInbox } from '../support/inbox.js'

/** All deliveries of an inbox as JSON texts, by inbox id. */
function contentOf(dir: string): Map<string, string> {
  const inbox = new Inbox(dir)
  return new Map(inbox.find({}).map(({ id }) => [id, JSON.stringify(inbox.read(id))]))
}

test('a flipped bit in an inbox harms one line, reported if unparsable', { tags: 'inbox-damage/1' }, async () => {
  const dir = temporaryDir()
  const bodies = [Buffer.from('{"update_id":1,"text":"Grüße"}'), Buffer.from([0, 255, 10, 13]), Buffer.alloc(0)]
  await writeInbox(
    dir,
    bodies.map((body, at) => delivery(at + 1, { body })),
  )
  const path = fileIn(dir)
  const good = readFileSync(path)
  const before = contentOf(dir)
  const starts = lineStarts(good)
  // The file alternates between a delivery line and the line of its response.
  const ownerOf = (line: number) => `1-${Math.floor(line / 2) + 1}`
  const named = /"(?:id|of)":"1-\d/g
  const ids = [...good.toString('latin1').matchAll(named)].map((it) => it.index + it[0].length - 1)
  const isLineEnd = (at: number) => good[at] === 10
  const lineOf = (at: number) => starts.findLastIndex((start) => start <= at)
  // A changed last digit of an id names another delivery. Of the bytes a sample suffices.
  const positions = Array.from({ length: good.length - 7 }, (_, i) => i + 6).filter(
    (at) => !ids.includes(at) && (isLineEnd(at) || at % 4 === lineOf(at) % 4),
  )
  for (const at of sampleOf(positions, isLineEnd)) {
    const line = lineOf(at)
    for (const bit of isLineEnd(at) ? [0, 1, 2, 3, 4, 5, 6, 7] : [at % 7]) {
      const bad = Buffer.from(good)
      bad[at] = (bad[at] as number) ^ (1 << bit)
      writeFileSync(path, bad)
      const where = `byte ${at}, bit ${bit}`
      const isParsed = decodeLine(bad.subarray(starts[line], bad.indexOf(10, starts[line]))) !== undefined
      if (!isParsed) expect(new Inbox(dir).damage[0], where).toEqual({ path, line: line + 1 })
      const after = contentOf(dir)
      // Without its line end, a line merges with the next one.
      const harmed = [ownerOf(line), ...(isLineEnd(at) ? [ownerOf(line + 1)] : [])]
      for (const [id, content] of before) if (!harmed.includes(id)) expect(after.get(id), where).toBe(content)
    }
  }
  const bad = Buffer.from(good)
  bad[good.indexOf('"kind"')] = 4
  writeFileSync(path, bad)
  await writeInbox(dir, [delivery(9)])
  expect(readFileSync(path).equals(bad)).toBe(true)
  expect(new Inbox(dir).find({}).map(({ id }) => id)).toContain('2-1')
})

test('an inbox file cut at any byte has its complete lines and no damage', { tags: 'inbox-files/2' }, async () => {
  const whole = temporaryDir()
  const writer = new InboxWriter(whole)
  const ends: number[] = []
  for (const id of [1, 2, 3]) {
    await writer.recordDelivery(delivery(id))
    ends.push(statSync(fileIn(whole)).size)
  }
  await writer.close()
  const path = fileIn(whole)
  const sizes = Array.from({ length: ends[2] as number }, (_, size) => size).reverse()
  for (const size of sampleOf(sizes, (it) => ends.some((end) => Math.abs(it - end) < 2))) {
    truncateSync(path, size)
    const before = ends.filter((end) => end <= size).length
    const inbox = new Inbox(whole)
    expect([inbox.count, inbox.damage]).toEqual([before, []])
    if (size % 67 !== 0) continue
    const dir = temporaryDir()
    copyFileSync(path, fileIn(dir))
    await writeInbox(dir, [delivery(9)])
    expect(statSync(fileIn(dir)).size).toBe(size)
    expect(
      new Inbox(dir)
        .find({})
        .map(({ id }) => id)
        .slice(before),
    ).toEqual(['2-1'])
  }
})
