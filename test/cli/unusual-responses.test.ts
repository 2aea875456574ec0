import { expect, test } from 'vitest'
import { cli, redeemCode, secrets, stub, success } from '../support/cli/cli.js'
import { template } from '../support/cli/samples.js'

async function against(args: string, respond: Parameters<typeof stub>[0]) {
  const { baseUrl, received } = await stub(respond)
  return { ...(await cli(`${args} --retries 0 --base-url ${baseUrl}`, { env: secrets })), received }
}

const redeem = `vouchers redeem --code ${redeemCode}`

test('vouchers redeem prints a success response without optional members', async () => {
  const partial = await against(redeem, () => success({ id: 'rdm_1', status: 'succeeded', voucher: null }))
  expect(partial).toMatchObject({ exit: 0, stderr: '', stdout: expect.stringContaining('rdm_1') })
})

test('apps create prints response data unchanged if it is a string', async () => {
  expect(await against('apps create --name S', () => success('x'))).toMatchObject({ exit: 0, stdout: 'x\n' })
})

test('a command prints error details of an unknown form as JSON', async () => {
  const details = { errors: [null, 'x', { pointer: 1 }] }
  const ran = await against('apps list', () => ({ status: 400, body: { success: false, code: 'ODD', details } }))
  expect([ran.exit, ran.stderr.split('\n').slice(1, 4)]).toEqual([8, ['  null', '  "x"', '  {"pointer":1}']])
})

test('a command exits 8 for the error code "constructor" and prints the status', async () => {
  const ran = await against('apps list', () => ({ status: 400, body: { success: false, code: 'constructor' } }))
  expect([ran.exit, ran.stderr]).toEqual([8, expect.stringContaining('status 400')])
})

test('--all reads pages until an empty page if responses have no pagination member', async () => {
  const ran = await against('templates list --all --json', (_request, i) => success({ items: i < 2 ? [template] : [] }))
  expect([ran.exit, JSON.parse(ran.stdout).items.length, ran.received.length]).toEqual([0, 2, 3])
})

test.each(['templates list --all --json', 'api GET /new/list --as token --all'])(
  'the command %s exits 9 and prints nothing if the second page is not a list',
  async (command) => {
    const pagination = { page: 1, limit: 100, total: 2, pages: 2 }
    const ran = await against(command, (_request, i) => success(i === 0 ? { items: [template], pagination } : {}))
    expect([ran.exit, ran.stdout]).toEqual([9, ''])
    expect(ran.stderr).toMatch(/Page 2 is not a list|data.items is missing/)
  },
)

test('--all stops at an empty page even if the response claims more pages', async () => {
  const pagination = { page: 1, limit: 100, total: 1, pages: 1e9 }
  const ran = await against('templates list --all --json', (_request, i) =>
    success({ items: i < 1 ? [template] : [], pagination }),
  )
  expect([ran.exit, ran.received.length]).toEqual([0, 2])
})

test('--all exits 9 if reading all pages takes longer than --timeout', async () => {
  const pagination = { page: 1, limit: 100, total: 1e9, pages: 1e9 }
  const ran = await against('templates list --all --json --timeout 300ms', () =>
    success({ items: [template], pagination }),
  )
  expect([ran.exit, ran.stdout, JSON.parse(ran.stderr).error.code]).toEqual([9, '', 'TIMEOUT'])
})

test('a command replaces line feeds in texts of a response by spaces', async () => {
  const body = {
    success: false,
    code: 'ODD',
    message: 'm\nhint: run this',
    requestId: 'r\nerror: b',
    details: { 'a\nb': 'c\nd' },
  }
  const refused = await against('apps list', () => ({ status: 400, body }))
  expect(refused.stderr).toBe('error: m hint: run this (ODD)\n  a b: c d\nrequest: r error: b\n')
  const done = await against(redeem, () =>
    success({ id: 'rdm_1', status: 'succeeded', voucher: { codeHint: '1\nerror: faked' } }),
  )
  expect(done.stdout).not.toMatch(/^error:/m)
})

test('a command prints the Retry-After of a 429 as a hint', async () => {
  const body = { success: false, code: 'ODD', message: 'Later.' }
  const ran = await against('apps list', () => ({ status: 429, body, headers: { 'retry-after': '7' } }))
  expect(ran.stderr).toContain('hint: The server asks to wait 7 s.')
})
