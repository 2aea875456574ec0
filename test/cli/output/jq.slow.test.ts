import { expect, test } from 'vitest'
import { cli, secrets, stub, success } from '../../support/cli/cli.js'
import { app, issuedVoucher, pageOf, template, token } from '../../support/cli/samples.js'

async function against(args: readonly string[], data: unknown, given: Parameters<typeof cli>[1] = {}) {
  const { baseUrl, received } = await stub(() => success(data))
  const ran = await cli([...args, '--base-url', baseUrl], { ...given, env: { ...secrets, ...given.env } })
  return { ...ran, received }
}

const get = ['apps', 'get', 'app_01']

test('--jq prints each result on a line: strings without quotes, other values as JSON', async () => {
  const ran = await against([...get, '--jq', '.name, .features, .description, (.features | length), true'], app)
  expect(ran).toMatchObject({ exit: 0, stdout: 'Coffee shop\n["vouchers"]\nnull\n1\ntrue\n', stderr: '' })
})

test('--jq filters the document that --json prints, reduced by --fields', { tags: 'results/2' }, async () => {
  const ran = await against([...get, '--fields', 'id,name', '--jq', 'keys'], app)
  expect(ran.stdout).toBe('["id","name"]\n')
  const list = ['templates', 'list', '--json', '--jq', '.items[].id, .pagination.total']
  expect((await against(list, pageOf(template))).stdout).toBe('tpl_01\n1\n')
})

test('--jq with -o jsonl filters each line', async () => {
  const args = ['templates', 'list', '-o', 'jsonl', '--jq', '.name']
  const ran = await against(args, pageOf(template, { ...template, name: 'a\nb' }))
  expect(ran.stdout).toBe('One free coffee\na\nb\n')
})

test('--jq prints nothing and exits 0 if the filter has no result', async () => {
  expect(await against([...get, '--jq', 'empty'], app)).toMatchObject({ exit: 0, stdout: '', stderr: '' })
})

test('a command with an invalid --jq filter exits 2 and sends nothing', { tags: 'results/2' }, async () => {
  for (const filter of ['.a |', '$nope', '', 'import "x" as x; .', '@']) {
    const ran = await against(['apps', 'create', '--name', 'S', '--jq', filter], app)
    expect([ran.exit, ran.stdout, ran.received]).toEqual([2, '', []])
    expect(JSON.parse(ran.stderr).error.message).toContain('--jq')
  }
})

test('--jq= accepts a filter that begins with a minus sign', async () => {
  expect((await against([...get, '--jq=-1'], app)).stdout).toBe('-1\n')
  expect((await against([...get, '--jq=--version'], app)).exit).toBe(2)
})

test('a command exits 1 and prints nothing on stdout if its --jq filter fails', { tags: 'results/2' }, async () => {
  const ran = await against([...get, '--jq', '.id, (.name | .[])'], app)
  expect([ran.exit, ran.stdout]).toEqual([1, ''])
  expect(JSON.parse(ran.stderr).error).toMatchObject({
    code: 'JQ_FAILED',
    message: '--jq failed: Cannot iterate over string.',
  })
})

test('tokens create reports success and how to replace the token if its --jq filter fails', async () => {
  const args = ['tokens', 'create', '--app', 'app_01', '--scope', 'vouchers:read', '--jq', '.token[]']
  const ran = await against(args, { ...token, token: 'sop_fresh' })
  expect([ran.exit, ran.received.length]).toEqual([1, 1])
  expect(JSON.parse(ran.stderr).error.hint).toMatch(/was done\. token is not shown again\. Revoke it/)
  expect(ran.stderr).not.toContain('sop_fresh')
  const added = await against([...args.slice(0, -1), '1 + .token + [.token]'], { ...token, token: 'sop_fresh' })
  expect(JSON.parse(added.stderr).error.message).toBe('--jq failed: number and string cannot be added.')
})

test('tokens create warns if --jq omits the one-time token', async () => {
  const args = ['tokens', 'create', '--app', 'app_01', '--scope', 'vouchers:read', '--jq']
  const data = { ...token, token: 'sop_fresh' }
  expect((await against([...args, '.id'], data)).stderr).toContain('warning: --jq left out token')
  expect(await against([...args, '.token'], data)).toMatchObject({ exit: 0, stdout: 'sop_fresh\n', stderr: '' })
})

test.each(['table', 'yaml', 'csv'])('--jq with -o %s exits 2', async (format) => {
  const ran = await against([...get, '--jq', '.id', '-o', format], app)
  expect([ran.exit, ran.stdout, ran.received]).toEqual([2, '', []])
  expect(ran.stderr).toContain(format)
})

test('--jq overrides the output format of VOUCHERCTL_OUTPUT', async () => {
  const ran = await against([...get, '--jq', '.id'], app, { env: { VOUCHERCTL_OUTPUT: 'yaml' } })
  expect(ran.stdout).toBe('app_01\n')
})

test('a command with --jq prints the error object if it fails', async () => {
  const ran = await cli([...get, '--jq', '.id', '--base-url', 'http://127.0.0.1:1', '--retries', '0'], { env: secrets })
  expect([ran.exit, JSON.parse(ran.stderr).error.code]).toEqual([9, 'NETWORK_ERROR'])
})

test('vouchers issue --jq prints the result of the filter instead of the usual text', async () => {
  const { externalIssueId, recipientUserId } = issuedVoucher
  const ids = ['--external-id', externalIssueId, '--recipient', recipientUserId]
  const args = ['vouchers', 'issue', '--template', 'tpl_1', ...ids, '--jq']
  const filter = '.credentials[] | select(.type == "redeem_code").value'
  expect((await against([...args, filter], issuedVoucher)).stdout).toBe(`${issuedVoucher.credentials[0]?.value}\n`)
})

test('a --jq filter cannot read environment variables', async () => {
  expect((await against([...get, '--jq', '$ENV.VOUCHERCTL_TOKEN, env.VOUCHERCTL_JWT'], app)).stdout).toBe(
    'null\nnull\n',
  )
})

test('--jq removes terminal controls from strings on a terminal and keeps them in a pipe', async () => {
  const name = 'a\u001b[31mred\u0007'
  const jq = [...get, '--jq', '.name, [.name]']
  expect((await against(jq, { ...app, name })).stdout.split('\n')[0]).toBe(name)
  const shown = await against(jq, { ...app, name }, { terminal: true })
  expect(shown.stdout).toBe('ared\n["a\\u001b[31mred\\u0007"]\n')
})

test('Ctrl-C ends an endless --jq filter with exit 130', async () => {
  const interruption = new AbortController()
  const { baseUrl } = await stub(() => {
    setTimeout(() => interruption.abort(), 200)
    return success(app)
  })
  const ran = await cli([...get, '--jq', '[limit(1e12; repeat(1))] | length', '--base-url', baseUrl], {
    env: secrets,
    signal: interruption.signal,
  })
  expect([ran.exit, ran.stdout]).toEqual([130, ''])
})

test('JqFilter fails if jq runs out of memory and filters the next document with a new instance', async () => {
  const { JqFilter } = await import('../../../src/cli/output/jq.js')
  const filter = new JqFilter('("x" * .) | [., . + "a", . + "b", . + "c"] | add | length', new AbortController().signal)
  expect((await filter.apply('1000000000')).failure).toMatchObject({
    code: 'JQ_FAILED',
    message: '--jq ran out of memory.',
  })
  expect(await filter.apply('2')).toMatchObject({ results: ['11'] })
})
