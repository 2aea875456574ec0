import { expect, test } from 'vitest'
import { cli, secrets, stub, success } from '../../support/cli/cli.js'
import { template } from '../../support/cli/samples.js'

const pageIn = (path: string) => Number(new URL(path, 'http://x').searchParams.get('page'))

test('--all --jq fails and suggests -o jsonl if the list exceeds the memory of jq', { tags: 'results/2' }, async () => {
  const items = Array.from({ length: 100 }, () => ({ ...template, description: 'd'.repeat(100_000) }))
  const { baseUrl, received } = await stub(({ path }) =>
    success({ items, pagination: { page: pageIn(path), limit: 100, total: 100_000, pages: 1_000 } }),
  )
  const argv = ['templates', 'list', '--all', '--jq', '.items|length', '--timeout', '1h', '--base-url', baseUrl]
  const ran = await cli(argv, { env: secrets })
  expect([ran.exit, ran.stdout]).toEqual([1, ''])
  expect(JSON.parse(ran.stderr).error).toMatchObject({
    code: 'JQ_FAILED',
    message: '--jq ran out of memory.',
    hint: expect.stringContaining('-o jsonl'),
  })
  // Each page has 10 MB, so the seventh page exceeds the limit of 64 MiB.
  expect(received.length).toBe(7)
})
