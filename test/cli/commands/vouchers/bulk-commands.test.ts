import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { productionEnv } from '../../../support/cli/bulk.js'
import {
  cli,
  type Received,
  refusal,
  type StubResponse,
  secrets,
  stub,
  success,
  temporaryDir,
} from '../../../support/cli/cli.js'
import { redemption, verification, voucher } from '../../../support/cli/samples.js'
import { closedPort } from '../../../support/closed-port.js'

const errorOf = (stderr: string) => JSON.parse(stderr).error

/** The credential or redemption id of a call. */
function subjectOf({ path, body }: Received): string {
  const credential = (body as { credential?: { value: string } } | null)?.credential
  return credential?.value ?? path.split('/').at(-2) ?? ''
}

/** A fake server that verifies, redeems and reverses, and returns a replay for a key that it has seen. */
async function platform(
  respond: (subject: string, call: number, request: Received) => StubResponse | undefined = () => undefined,
) {
  const keys = new Set<unknown>()
  return stub((request, call) => {
    const subject = subjectOf(request)
    const other = respond(subject, call, request)
    if (other !== undefined && !other.drop) return other
    if (request.path.endsWith('/verify')) return success(verification)
    const key = request.headers['idempotency-key']
    const replay = keys.has(key) ? { headers: { 'idempotent-replayed': 'true' } } : {}
    keys.add(key)
    if (other !== undefined) return other
    const data = request.path.endsWith('/redeem')
      ? { ...redemption, id: subject.replace('TOKEN-', 'rdm_') }
      : { ...redemption, id: subject, status: 'reversed' }
    return { ...success(data), ...replay }
  })
}

type RunOptions = NonNullable<Parameters<typeof cli>[1]> & { readonly input?: string; readonly out?: string }

/** A folder with an input file, in which bulk commands run. */
function folderWith(content: string | Buffer, name = 'in.csv') {
  const dir = temporaryDir()
  writeFileSync(join(dir, name), content)
  const run = (command: string, baseUrl: string, more: readonly string[] = [], given: RunOptions = {}) => {
    const { input = name, out = 'out.csv', ...rest } = given
    const args = ['vouchers', command, input, '--out', out, '--base-url', baseUrl, '--retries', '0', ...more]
    return cli(args, { env: secrets, home: dir, ...rest })
  }
  const read = (file: string) => readFileSync(join(dir, file), 'utf8')
  const lines = (file: string) => read(file).trimEnd().split('\n').slice(1)
  return { dir, run, read, lines }
}

const tokens = (...names: readonly string[]) => `qr_token\n${names.map((it) => `TOKEN-${it}\n`).join('')}`
const ids = (...names: readonly string[]) => `redemption_id\n${names.map((it) => `rdm_${it}\n`).join('')}`
const keysOf = (received: readonly Received[]) => received.map(({ headers }) => headers['idempotency-key'])

test('redeem-many redeems each row and keeps every code out of its files, which have mode 0600', async () => {
  const codes = 'qr_token,recipient_user_id,reference,metadata.till\nTOKEN-1,user-1,order-1,4\nTOKEN-2,,,\n'
  const { dir, run, read, lines } = folderWith(codes)
  const { baseUrl, received } = await platform()
  const { exit, stdout, stderr } = await run('redeem-many', baseUrl, ['--json', '--concurrency', '1'])
  expect([exit, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toMatchObject({ total: 2, redeemed: 2, replayed: 0, skipped: 0, failed: 0, failures: {} })
  expect(received.map((it) => it.body)).toEqual([
    {
      credential: { type: 'qr_token', value: 'TOKEN-1' },
      recipient_user_id: 'user-1',
      reference: 'order-1',
      metadata: { till: '4' },
    },
    { credential: { type: 'qr_token', value: 'TOKEN-2' } },
  ])
  expect(lines('out.csv')[0]).toMatch(/^2,rdm_1,vch_01,order-1,user-1,order-1,T4FJ,2/)
  for (const file of ['out.csv', 'out.csv.journal']) expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600)
  expect(read('out.csv.journal')).not.toContain('TOKEN')
})

test('bulk commands accept results of issue-many, reverse-many results of redeem-many', async () => {
  const issued =
    'line,external_issue_id,recipient_user_id,voucher_id,redeem_code,qr_token,valid_from,valid_until,name,issuer_name\n2,order-1,user-1,vch_1,,TOKEN-1,a,b,c,d\n'
  const { dir, run, lines } = folderWith(issued, 'codes.csv')
  const { baseUrl, received } = await platform()
  const to = (command: string, input: string, out: string) =>
    run(command, baseUrl, ['--json'], { input, out }).then((it) => it.exit)
  expect(await to('verify-many', 'codes.csv', 'verified.csv')).toBe(0)
  expect(await to('redeem-many', 'codes.csv', 'redeemed.csv')).toBe(0)
  expect(await to('reverse-many', 'redeemed.csv', 'reversed.csv')).toBe(0)
  expect(received.map((it) => it.path.split('/').at(-1))).toEqual(['verify', 'redeem', 'reverse'])
  expect(lines('reversed.csv')[0]).toMatch(/^2,rdm_1,vch_01,/)
  expect(readdirSync(dir)).toHaveLength(7)
})

test('redeem-many sends new keys in a second run, which is refused', { tags: 'bulk-commands/3' }, async () => {
  const { baseUrl, received } = await platform()
  const input = tokens('1', '2')
  await folderWith(input).run('redeem-many', baseUrl, [], { newId: () => 'run-1' })
  await folderWith(input).run('redeem-many', baseUrl, [], { newId: () => 'run-2' })
  const keys = keysOf(received)
  expect(keys[0]).toMatch(/^redeem-many-[\w-]{43}$/)
  expect(new Set(keys).size).toBe(4)
})

test('redeem-many --resume sends the same keys after a lost response', { tags: 'bulk-commands/3' }, async () => {
  const { run, lines, read } = folderWith(tokens('1', '2', '3'))
  let isAway = true
  const { baseUrl, received } = await platform((subject) =>
    isAway && subject !== 'TOKEN-1' ? { drop: true } : undefined,
  )
  const first = await run('redeem-many', baseUrl, ['--json', '--concurrency', '1'], { newId: () => 'run-1' })
  expect([first.exit, errorOf(first.stderr).hint]).toEqual([9, expect.stringContaining('1 of 3 rows are redeemed.')])
  isAway = false
  const resumed = await run('redeem-many', baseUrl, ['--json', '--resume'], { newId: () => 'run-2' })
  expect([resumed.exit, JSON.parse(resumed.stdout)]).toMatchObject([
    0,
    { total: 3, redeemed: 1, replayed: 1, skipped: 1, failed: 0 },
  ])
  const second = received.filter((it) => subjectOf(it) === 'TOKEN-2')
  expect(new Set(keysOf(second)).size).toBe(1)
  expect(lines('out.csv')).toHaveLength(3)
  expect(read('out.csv.journal')).toContain('"run":"run-1"')
})

test('redeem-many keeps its run id if the response to its only call is lost', { tags: 'bulk-commands/3' }, async () => {
  const { dir, run } = folderWith(tokens('1'))
  let isAway = true
  const { baseUrl, received } = await platform(() => (isAway ? { drop: true } : undefined))
  const first = await run('redeem-many', baseUrl, ['--json'], { newId: () => 'run-1' })
  expect([first.exit, errorOf(first.stderr).hint]).toEqual([9, expect.stringContaining('--resume')])
  isAway = false
  const { exit, stdout } = await run('redeem-many', baseUrl, ['--json', '--resume'], { newId: () => 'run-2' })
  expect([exit, JSON.parse(stdout)]).toMatchObject([0, { redeemed: 0, replayed: 1 }])
  expect(new Set(keysOf(received)).size).toBe(1)
  expect(existsSync(join(dir, 'out.csv.journal'))).toBe(true)
})

test('redeem-many removes its files if no call reached the server', async () => {
  const { dir, run } = folderWith(tokens('1'))
  expect((await run('redeem-many', `http://127.0.0.1:${await closedPort()}`)).exit).toBe(9)
  expect(readdirSync(dir)).toEqual(['in.csv'])
})

test('redeem-many lists refused rows without their codes, redeems the others and exits 11', async () => {
  const { run, read, lines } = folderWith('qr_token,reference\nTOKEN-1,order-1\nTOKEN-2,order-2\nTOKEN-3,order-3\n')
  const { baseUrl } = await platform((subject) =>
    subject === 'TOKEN-1'
      ? refusal(409, 'VOUCHER_ALREADY_REDEEMED')
      : subject === 'TOKEN-2'
        ? { status: 404, body: { success: false, code: 'VOUCHER_NOT_FOUND', message: 'No voucher has TOKEN-2.' } }
        : undefined,
  )
  const { exit, stdout } = await run('redeem-many', baseUrl, ['--json', '--concurrency', '1'])
  expect([exit, JSON.parse(stdout)]).toMatchObject([
    11,
    { redeemed: 1, failed: 2, failures: { VOUCHER_ALREADY_REDEEMED: 1, VOUCHER_NOT_FOUND: 1 } },
  ])
  expect(lines('out.errors.csv').map((it) => it.split(',').slice(0, 5))).toEqual([
    ['2', '', '', 'order-1', 'VOUCHER_ALREADY_REDEEMED'],
    ['3', '', '', 'order-2', 'VOUCHER_NOT_FOUND'],
  ])
  expect(read('out.errors.csv')).not.toContain('TOKEN')
})

test('redeem-many hides the code of the row that ends the run if the server repeats it', async () => {
  const { run } = folderWith(tokens('123456'))
  const { baseUrl } = await platform(() => refusal(401, 'TOKEN_REVOKED', { message: 'Refused TOKEN-123456.' }))
  const { exit, stderr } = await run('redeem-many', baseUrl)
  expect([exit, stderr.includes('TOKEN-123456')]).toEqual([4, false])
})

test('redeem-many refuses a file with a mistyped, missing or repeated code', { tags: 'bulk-commands/1' }, async () => {
  const code = 'M9S3-46Q3-D25V-T4FJ'
  const { run, lines } = folderWith(`redeem_code,qr_token\n${code},\nM9S3-46Q3-D25V-T4FK,\n1234,\n,\n${code},\n,T\n`)
  const { baseUrl, received } = await platform()
  const { exit, stdout, stderr } = await run('redeem-many', baseUrl, ['--json'])
  expect([exit, stdout, received]).toEqual([2, '', []])
  expect(errorOf(stderr).message).toContain('3 rows cannot be sent of 5')
  expect(stderr).not.toContain('46Q3')
  expect(lines('out.errors.csv').map((it) => it.split(',').slice(4, 6))).toEqual([
    ['VALUE_WRONG', 'redeem_code is mistyped: its check symbol does not fit'],
    ['VALUE_WRONG', 'redeem_code is not a redeem code: 16 symbols'],
    ['DUPLICATE', 'has the redeem_code of line 2'],
  ])
})

test('verify-many exits 0 for any results, and 6 with --check for a refusal', { tags: 'bulk-commands/4' }, async () => {
  const input = tokens('1', '2', '3', '4')
  const { baseUrl, received } = await platform((subject) =>
    subject === 'TOKEN-2'
      ? success({
          ...verification,
          redeemable: false,
          reason: 'already_redeemed',
          voucher: { ...voucher, status: 'redeemed' },
        })
      : subject === 'TOKEN-3'
        ? refusal(404, 'VOUCHER_NOT_FOUND')
        : subject === 'TOKEN-4'
          ? refusal(400, 'VALIDATION_FAILED')
          : undefined,
  )
  const plain = folderWith(input)
  const found = { redeemable: 1, not_redeemable: 3, reasons: { already_redeemed: 1, VOUCHER_NOT_FOUND: 1 } }
  const { exit, stdout, stderr } = await plain.run('verify-many', baseUrl, ['--json'])
  expect([exit, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toMatchObject({ total: 4, verified: 4, skipped: 0, failed: 0, ...found })
  expect(keysOf(received)).toEqual([undefined, undefined, undefined, undefined])
  expect(
    plain
      .lines('out.csv')
      .sort()
      .map((it) => it.split(',').slice(0, 4)),
  ).toEqual([
    ['2', 'true', '', 'vch_01'],
    ['3', 'false', 'already_redeemed', 'vch_01'],
    ['4', 'false', 'VOUCHER_NOT_FOUND', ''],
    ['5', 'false', 'VALIDATION_FAILED', ''],
  ])
  const checked = await folderWith(input).run('verify-many', baseUrl, ['--check'], { terminal: true })
  expect([checked.exit, checked.stdout]).toEqual([
    6,
    expect.stringMatching(/✗ 1 of 4 vouchers are redeemable; not redeem/),
  ])
  // The findings of the earlier run count, although all of its rows are skipped.
  const resumed = await plain.run('verify-many', baseUrl, ['--check', '--resume', '--json'])
  expect([resumed.exit, JSON.parse(resumed.stdout)]).toMatchObject([6, { verified: 0, skipped: 4, ...found }])
})

test('verify-many --check exits with 0 if all vouchers are redeemable, 11 if a row fails', async () => {
  let isBroken = false
  const { baseUrl } = await platform(() => (isBroken ? refusal(500, 'INTERNAL_ERROR') : undefined))
  expect((await folderWith(tokens('1')).run('verify-many', baseUrl, ['--check'])).exit).toBe(0)
  isBroken = true
  expect((await folderWith(tokens('1')).run('verify-many', baseUrl, ['--check'])).exit).toBe(11)
})

test('reverse-many reverses redemption ids, with the reason of row or flag', { tags: 'bulk-commands/1' }, async () => {
  const { run, lines } = folderWith(
    '{"redemption_id":"rdm_1"}\n{"redemption_id":"rdm_2","reason":"own"}\n',
    'in.ndjson',
  )
  const { baseUrl, received } = await platform()
  const flags = ['--reason', 'wrong till', '--json', '--concurrency', '1']
  const { exit, stdout } = await run('reverse-many', baseUrl, flags, { input: 'in.ndjson' })
  expect([exit, JSON.parse(stdout)]).toMatchObject([0, { total: 2, reversed: 2, replayed: 0 }])
  expect(received.map((it) => [it.path.split('/').slice(-2), it.body])).toEqual([
    [['rdm_1', 'reverse'], { reason: 'wrong till' }],
    [['rdm_2', 'reverse'], { reason: 'own' }],
  ])
  expect(lines('out.csv')[0]).toMatch(/^1,rdm_1,vch_01,/)
  const other = await run('reverse-many', baseUrl, ['--reason', 'other', '--resume'], { input: 'in.ndjson' })
  expect([other.exit, other.stderr]).toEqual([2, expect.stringContaining('another reason (wrong till, now other)')])
})

test('reverse-many refuses to resume the run of another command', { tags: 'journal-of-bulk-commands/2' }, async () => {
  const { run } = folderWith(`${ids('1')}`)
  const { baseUrl } = await platform()
  const other = folderWith(tokens('1'))
  expect((await other.run('redeem-many', baseUrl)).exit).toBe(0)
  writeFileSync(join(other.dir, 'in.csv'), ids('1'))
  const { exit, stderr } = await other.run('reverse-many', baseUrl, ['--resume'])
  expect([exit, stderr]).toEqual([2, expect.stringContaining('belongs to a run of vouchers redeem-many')])
  expect((await run('reverse-many', baseUrl)).exit).toBe(0)
})

test.each([
  ['redeem-many', tokens('1', '2'), 'redeem', 'Redeeming 2 vouchers'],
  ['reverse-many', ids('1', '2'), 'reverse', 'Reversing 2 redemptions'],
])('%s on a production profile requires --yes or the typed word', async (command, input, word, action) => {
  const { baseUrl, received } = await platform()
  const { dir } = folderWith(input)
  const run = (name: string, given: RunOptions = {}) =>
    cli(['vouchers', name, 'in.csv', '--out', `${name}.csv`], { env: productionEnv(baseUrl), home: dir, ...given })
  const unasked = await run(command)
  expect([unasked.exit, received, existsSync(join(dir, `${command}.csv`))]).toEqual([3, [], false])
  const typed = await run(command, { terminal: true, replies: [word] })
  expect([typed.exit, received.length, typed.asked[0]]).toEqual([0, 2, expect.stringContaining(action)])
})

test('verify-many needs no confirmation on a production profile', async () => {
  const { baseUrl } = await platform()
  const { dir } = folderWith(tokens('1'))
  const args = 'vouchers verify-many in.csv --out out.csv'
  expect((await cli(args, { env: productionEnv(baseUrl), home: dir })).exit).toBe(0)
})

test.each(['verify-many', 'redeem-many'])('%s --dry-run shows the first call without its code', async (command) => {
  const { dir, run } = folderWith(tokens('SECRET-1', '2'))
  const { baseUrl, received } = await platform()
  const { exit, stdout } = await run(command, baseUrl, ['--dry-run', '--json'])
  const { requests, actions } = JSON.parse(stdout)
  expect([exit, received, requests.length]).toEqual([0, [], 1])
  expect(actions[0]).toContain(`${command.split('-')[0]} 2 vouchers of in.csv`)
  expect(stdout).not.toContain('SECRET')
  expect(readdirSync(dir)).toEqual(['in.csv'])
})

test('redeem-many --resume writes rows once if a line is damaged', { tags: 'journal-of-bulk-commands/1' }, async () => {
  const { dir, run, lines } = folderWith(tokens('1', '2', '3'))
  const { baseUrl, received } = await platform()
  expect((await run('redeem-many', baseUrl, ['--concurrency', '1'])).exit).toBe(0)
  const journal = join(dir, 'out.csv.journal')
  writeFileSync(journal, readFileSync(journal, 'utf8').replace('"line":3', '"line":9'))
  const { exit, stdout, stderr } = await run('redeem-many', baseUrl, ['--resume', '--json'])
  expect([exit, JSON.parse(stdout).skipped, stderr]).toEqual([0, 3, expect.stringContaining('line 3 is damaged')])
  expect([received.length, lines('out.csv').length]).toEqual([3, 3])
})

test.each([
  [
    'verify-many',
    'code\nA\n',
    'unknown column "code". (INVALID_INPUT)\nhint: Rename the column to redeem_code, or remove it.',
  ],
  ['redeem-many', 'reference\na\n', 'has no codes: its header has no column redeem_code or qr_token'],
  ['verify-many', 'redemption_id,code_hint\nrdm_1,a\n', 'has no codes: its header has no column'],
  ['verify-many', 'redeem_code,qr_token,name\n,,Coffee\n,,Tea\n', 'in.csv has no codes. (INVALID_INPUT)'],
  [
    'redeem-many',
    'redeem_code,email\nA,b\n',
    'redeem_code or qr_token; optional: external_issue_id,recipient_user_id,',
  ],
  ['reverse-many', 'id\nrdm_1\n', 'Rename the column to redemption_id'],
  ['verify-many', 'qr_token,metadata.a\nT,1\n', 'unknown column "metadata.a"'],
  [
    'verify-many',
    'qr_token|a\nT|1\n',
    'hint: The first line of CSV names the columns: redeem_code or qr_token; optional: ',
  ],
  ['verify-many', Buffer.from('\ufeffqr_token\n', 'utf16le'), 'hint: Save it as UTF-8'],
])('%s names the mistake in the header of its input: %j', async (command, input, message) => {
  const { exit, stderr } = await folderWith(input).run(command, 'http://127.0.0.1:1')
  expect([exit, stderr]).toEqual([2, expect.stringContaining(message)])
})

test.each([
  ['sep=;\nqr_token;recipient_user_id\nT1;u\n', ''],
  ['qr_token\trecipient_user_id\rT1\tu\r', ''],
  ['qr_token;recipient_user_id;\nT1;u;\n', ''],
  ['qr_token;recipient_user_id\nT1;u\n', '--delimiter ;'],
  ['qr_token;recipient_user_id\nT1;u\n', '--delimiter semicolon'],
  ['qr_token\trecipient_user_id\nT1\tu\n', '--delimiter \\t'],
  ['sep=,\nqr_token\trecipient_user_id\nT1\tu\n', '--delimiter tab'],
])('verify-many reads the table %j %s', { tags: 'bulk-commands/2' }, async (input, more) => {
  const { baseUrl, received } = await stub(() => success({ redeemable: true, reason: null, voucher }))
  const words = more.split(' ').filter((it) => it !== '')
  expect((await folderWith(input).run('verify-many', baseUrl, words)).exit).toBe(0)
  const body = { credential: { type: 'qr_token', value: 'T1' }, recipient_user_id: 'u' }
  expect(received.map((it) => it.body)).toEqual([body])
})

test('verify-many says that the header lacks the delimiter of --delimiter', async () => {
  const { run } = folderWith('qr_token,recipient_user_id\nT,u\n')
  const { exit, stderr } = await run('verify-many', 'http://127.0.0.1:1', ['--delimiter', ';'])
  expect([exit, stderr]).toEqual([2, expect.stringContaining('not separated by semicolons.')])
  expect(stderr).toContain('hint: Leave out --delimiter or the line sep=.')
})

test('redeem-many says 1,000 equal mistakes in one line with their count', async () => {
  const { run } = folderWith(`${tokens('1')}${'a,b\n'.repeat(1000)}`)
  const { exit, stderr } = await run('redeem-many', 'http://127.0.0.1:1')
  expect(exit).toBe(2)
  expect(stderr.match(/^ {2}.*$/gm)).toEqual([expect.stringMatching(/^ {2}line 3 and 999 more: has 2 values where/)])
})
