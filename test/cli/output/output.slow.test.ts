import { expect, test } from 'vitest'
import { UTC } from '../../../src/cli/host/host.js'
import { loadPaint } from '../../../src/cli/output/colour.js'
import { showList } from '../../../src/cli/output/show.js'

test('a command prints a table of 150,000 rows from one response, one line per row', async () => {
  const items = Array.from({ length: 150_000 }, (_, i) => ({
    id: `dlv_${i}`,
    name: i < 2_000 ? '咖啡' : 'Kaffee 咖啡',
    status: 'ok',
  }))
  const { text } = await showList({ items }, undefined, { paint: await loadPaint(false), width: 40, now: 0, zone: UTC })
  const lines = text.trimEnd().split('\n')
  expect(lines).toHaveLength(150_001)
  expect([lines[0], lines[1], lines[1_001], lines.at(-1)]).toEqual([
    'ID       NAME  STATUS',
    'dlv_0    咖啡  ok',
    'dlv_1000  咖啡  ok',
    'dlv_149999  Kaf…  ok',
  ])
})
