import { expect, test, vi } from 'vitest'
import { bash, manyTemplates } from '../../support/cli/bash.js'
import { stub, success } from '../../support/cli/cli.js'
import { issuedVoucher, pageOf, template } from '../../support/cli/samples.js'

vi.setConfig({ testTimeout: 120_000 })

test.each([
  ['-o json', 'wc -c', /^\d{8}\n$/],
  ['-o jsonl', 'wc -l', /^10000\n$/],
  ['-o csv', 'wc -l', /^10001\n$/],
  ['-o jsonl --jq .id', 'wc -l', /^10000\n$/],
  ['', 'wc -l', /^10001\n$/],
])('templates list --all %s prints 40 MB with a JavaScript heap of 32 MB', async (flags, count, expected) => {
  const { baseUrl } = await manyTemplates(100)
  const line = `set -o pipefail; (cli templates list --all ${flags} --timeout 10m --base-url ${baseUrl}) | ${count}`
  const ran = await bash(line, { NODE_OPTIONS: '--max-old-space-size=32' })
  expect(ran).toMatchObject({ exit: 0, stderr: '', stdout: expect.stringMatching(expected) })
})

test('templates list --all exits 0 without a message if the reader closes the pipe', async () => {
  const { baseUrl, requestCount } = await manyTemplates(100)
  const line = `(cli templates list --all -o jsonl --timeout 10m --base-url ${baseUrl}) | head -c 10; echo " \${PIPESTATUS[0]}"`
  expect(await bash(line)).toEqual({ exit: 0, stdout: '{"id":"tpl 0\n', stderr: '' })
  expect(requestCount()).toBeLessThan(10)
})

test('vouchers issue exits 0 if the reader has closed the pipe before the result is printed', async () => {
  const { baseUrl, received } = await stub(() => success(issuedVoucher))
  const issue = `vouchers issue --template tpl_01 --external-id order-1 --recipient u --json --base-url ${baseUrl}`
  expect(await bash(`(cli ${issue}) | true; echo "\${PIPESTATUS[0]}"`)).toEqual({ exit: 0, stdout: '0\n', stderr: '' })
  expect(received).toHaveLength(1)
})

test.each([
  ['closed', '<&-', ['login']],
  ['open but never written', '', ['vouchers redeem', 'apps create', 'login', 'bots send']],
])('commands that need input exit 3 instead of waiting for a stdin that is %s', async (_how, redirection, commands) => {
  const { baseUrl } = await stub(() => success(pageOf(template)))
  const list = await bash(`cli templates list --jq .items[].id --base-url ${baseUrl} ${redirection}`)
  expect(list).toEqual({ exit: 0, stdout: 'tpl_01\n', stderr: '' })
  for (const command of commands) {
    const ran = await bash(`cli ${command} --json --base-url ${baseUrl} ${redirection}`)
    expect([command, ran.exit, ran.stdout]).toEqual([command, 3, ''])
    expect(JSON.parse(ran.stderr).error.code).toBe('INPUT_REQUIRED')
  }
})

test.each(['--version', '--help', 'vouchers redeem --help', 'commands --json'])(
  'the command %s exits 1 on a full disk and 0 if the reader has closed the pipe',
  async (words) => {
    const full = await bash(`cli ${words} > /dev/full`)
    const line = 'error: The result cannot be written to standard output (ENOSPC). (FILE_UNWRITABLE)\n'
    expect(full).toEqual({ exit: 1, stdout: '', stderr: line })
    const gone = await bash(`(cli ${words}) | true; echo "\${PIPESTATUS[0]}"`)
    expect(gone).toEqual({ exit: 0, stdout: '0\n', stderr: '' })
  },
)

test('templates list exits 1 with ENOSPC on a full disk', async () => {
  const { baseUrl } = await stub(() => success(pageOf(template)))
  const ran = await bash(`cli templates list --json --base-url ${baseUrl} > /dev/full`)
  expect([ran.exit, ran.stderr]).toEqual([1, expect.stringContaining('ENOSPC')])
})

test('--all --jq exits 1 with an error object if the list exceeds the JavaScript heap', async () => {
  const { baseUrl } = await manyTemplates(100)
  const line = `cli templates list --all --jq '.items|length' --timeout 10m --base-url ${baseUrl}`
  const ran = await bash(line, { NODE_OPTIONS: '--max-old-space-size=32' })
  expect([ran.exit, ran.stdout]).toEqual([1, ''])
  expect(JSON.parse(ran.stderr).error).toMatchObject({ code: 'JQ_FAILED', message: '--jq ran out of memory.' })
})

test('--all does not request further pages while the reader of its output is slow', async () => {
  const { baseUrl, requestCount } = await manyTemplates(100)
  const slow = `(cli templates list --all -o jsonl --timeout 10m --base-url ${baseUrl}) | (sleep 2; curl -s ${baseUrl}/ > /dev/null; head -1 | cut -c1-8)`
  const ran = await bash(slow)
  expect(ran).toMatchObject({ exit: 0, stderr: '', stdout: '{"id":"t\n' })
  // A pipe buffers 64 KiB and a page has 470 KB, so one page already blocks the output.
  expect(requestCount()).toBeLessThan(5)
})
