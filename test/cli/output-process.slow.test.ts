import { expect, test, vi } from 'vitest'
import { bash, manyTemplates } from '../support/bash.js'

vi.setConfig({ testTimeout: 120_000 })

test.each([
  ['-o csv', 'wc -l', /^10001\n$/],
  ['-o jsonl --jq .id', 'wc -l', /^10000\n$/],
  ['', 'wc -l', /^10001\n$/],
])('--all %s: 40 MB pass through a heap of 32 MB', async (flags, count, expected) => {
  const { baseUrl } = await manyTemplates(100)
  const line = `set -o pipefail; (cli templates list --all ${flags} --timeout 10m --base-url ${baseUrl}) | ${count}`
  const ran = await bash(line, { NODE_OPTIONS: '--max-old-space-size=32' })
  expect(ran).toMatchObject({ exit: 0, stderr: '', stdout: expect.stringMatching(expected) })
})

test('--all --jq fails with one line, without aborting, when the list exceeds the heap', async () => {
  const { baseUrl } = await manyTemplates(100)
  const line = `cli templates list --all --jq '.items|length' --timeout 10m --base-url ${baseUrl}`
  const ran = await bash(line, { NODE_OPTIONS: '--max-old-space-size=32' })
  expect([ran.exit, ran.stdout]).toEqual([1, ''])
  expect(JSON.parse(ran.stderr).error).toMatchObject({ code: 'JQ_FAILED', message: '--jq ran out of memory.' })
})

test('a reader that is slow slows the calls down', async () => {
  const { baseUrl, asked } = await manyTemplates(100)
  const slow = `(cli templates list --all -o jsonl --timeout 10m --base-url ${baseUrl}) | (sleep 2; curl -s ${baseUrl}/ > /dev/null; head -1 | cut -c1-8)`
  const ran = await bash(slow)
  expect(ran).toMatchObject({ exit: 0, stderr: '', stdout: '{"id":"t\n' })
  // A pipe holds 64 KiB and a page is 470.
  expect(asked()).toBeLessThan(5)
})
