import { existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { expect, test, vi } from 'vitest'
import { Bulk, codeOf, idsOf, issuer, productionEnv } from '../../../support/cli/bulk.js'
import { cli, refusal, secrets, temporaryDir } from '../../../support/cli/cli.js'
import { voucher } from '../../../support/cli/samples.js'
import { closedPort } from '../../../support/closed-port.js'
import { openFilesIn } from '../../../support/open-files.js'

const errorOf = (stderr: string) => JSON.parse(stderr).error
const head = 'external_issue_id,recipient_user_id'

test('issue-many issues every row once and writes the redeem codes to a file with mode 0600', async () => {
  const ids = idsOf(200)
  const bulk = Bulk.of(ids)
  const { baseUrl, issued, received } = await issuer()
  const { exit, stdout, stderr } = await bulk.run(baseUrl, ['--json', '--concurrency', '8'])
  expect([exit, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toEqual({
    template_id: 'tpl_1',
    total: 200,
    issued: 200,
    replayed: 0,
    skipped: 0,
    failed: 0,
    failures: {},
    out: bulk.out,
    errors: null,
    journal: `${bulk.out}.journal`,
    next: null,
    duration_ms: expect.any(Number),
  })
  expect([...issued.values()]).toEqual(ids.map(() => 1))
  expect(bulk.ids().sort()).toEqual([...ids].sort())
  for (const row of bulk.rows()) {
    const id = row.external_issue_id as string
    expect(row).toMatchObject({
      line: String(ids.indexOf(id) + 2),
      recipient_user_id: `user-${id}`,
      voucher_id: `vch_${id}`,
      redeem_code: codeOf(id),
      qr_token: `QR-${id}`,
      valid_until: expect.stringMatching(/Z$/),
      name: voucher.name,
      issuer_name: voucher.issuerName,
    })
  }
  expect(statSync(bulk.out).mode & 0o777).toBe(0o600)
  expect(statSync(`${bulk.out}.journal`).mode & 0o777).toBe(0o600)
  expect(readdirSync(bulk.dir).sort()).toEqual(['in.csv', 'out.csv', 'out.csv.journal'])
  const body = { template_id: 'tpl_1', external_issue_id: 'order-0', recipient_user_id: 'user-order-0' }
  expect(received[0]?.body).toEqual(body)
})

test('issue-many syncs the journal before the first API call and the results before it ends', async () => {
  const probe = await open(join(temporaryDir(), 'probe'), 'w')
  const datasync = vi.spyOn(Object.getPrototypeOf(probe) as typeof probe, 'datasync')
  await probe.close()
  try {
    const atCall: number[] = []
    const { baseUrl } = await issuer(() => void atCall.push(datasync.mock.calls.length))
    expect((await Bulk.of(['a']).run(baseUrl)).exit).toBe(0)
    expect([atCall, datasync.mock.calls.length]).toEqual([[1], 2])
  } finally {
    datasync.mockRestore()
  }
})

test.for(['none/bad.csv', 'folder.csv', '/proc/bad.csv'])(
  'issue-many refuses --errors %s, which cannot be written, before the first call',
  async (name) => {
    const bulk = Bulk.of(['a'])
    mkdirSync(join(bulk.dir, 'folder.csv'))
    const { baseUrl, received } = await issuer(() => refusal(409, 'EXTERNAL_ISSUE_ID_CONFLICT'))
    const errors = ['--errors', resolve(bulk.dir, name), '--json']
    for (const start of [bulk.run(baseUrl, errors), bulk.pipe(baseUrl, bulk.read('in.csv'), errors)]) {
      const ran = await start
      expect([ran.exit, ran.stdout, received, errorOf(ran.stderr).code]).toEqual([1, '', [], 'FILE_UNWRITABLE'])
    }
    expect(readdirSync(bulk.dir).sort()).toEqual(['folder.csv', 'in.csv'])
  },
)

test('issue-many keeps its files if its errors file becomes unwritable during the first write', async () => {
  const bulk = Bulk.of(['a'])
  const folder = join(bulk.dir, 'errors')
  mkdirSync(folder)
  const { baseUrl } = await issuer(() => {
    rmSync(folder, { recursive: true })
    return refusal(409, 'EXTERNAL_ISSUE_ID_CONFLICT')
  })
  const ran = await bulk.run(baseUrl, ['--errors', join(folder, 'bad.csv'), '--json'])
  const hint = expect.stringContaining('--resume')
  expect([ran.exit, errorOf(ran.stderr)]).toMatchObject([1, { code: 'FILE_UNWRITABLE', hint }])
  expect(readdirSync(bulk.dir).sort()).toEqual(['in.csv', 'out.csv', 'out.csv.journal'])
})

test('issue-many that cannot create its results leaves no journal and no open file', async () => {
  const bulk = Bulk.of(['a'])
  const { baseUrl, received } = await issuer()
  symlinkSync('missing', bulk.out)
  const ran = await bulk.run(baseUrl)
  expect([ran.exit, ran.stdout, received]).toEqual([1, '', []])
  expect(ran.stderr).toContain('cannot be written (EEXIST)')
  expect([readdirSync(bulk.dir).sort(), openFilesIn(bulk.dir)]).toEqual([['in.csv', 'out.csv'], []])
  rmSync(bulk.out)
  expect((await bulk.run(baseUrl)).exit).toBe(0)
})

test('the issue-many journal has the voucher id or error of each row, but no code or recipient', async () => {
  const bulk = Bulk.of(['a', 'b'])
  const { baseUrl } = await issuer((id) => (id === 'b' ? refusal(409, 'EXTERNAL_ISSUE_ID_CONFLICT') : undefined))
  expect((await bulk.run(baseUrl)).exit).toBe(11)
  const journal = bulk.read('out.csv.journal')
  expect(journal).toContain('"voucher_id":"vch_a"')
  expect(journal).toContain('"code":"EXTERNAL_ISSUE_ID_CONFLICT"')
  expect(journal).not.toMatch(/CODE-|QR-|user-|CANARY/)
})

test('issue-many derives keys from template, external id and recipient', { tags: 'bulk-commands/3' }, async () => {
  const { baseUrl, received } = await issuer()
  const keyFor = async (row: string, template = 'tpl_1') => {
    const bulk = new Bulk(`${head}\n${row}\n`)
    await cli(
      bulk.args(baseUrl).map((it) => (it === 'tpl_1' ? template : it)),
      { env: secrets },
    )
    return received.at(-1)?.headers['idempotency-key']
  }
  const key = await keyFor('a,u')
  expect(key).toMatch(/^issue-many-[\w-]{43}$/)
  expect(await keyFor('a,u')).toBe(key)
  expect(new Set([key, await keyFor('a,v'), await keyFor('b,u'), await keyFor('a,u', 'tpl_2')]).size).toBe(4)
})

test('issue-many with .ndjson files reads and writes NDJSON and sends metadata unchanged', async () => {
  const line = { external_issue_id: 'a,"b"', recipient_user_id: 'u', metadata: { k: 'v' } }
  const bulk = new Bulk(`${JSON.stringify(line)}\n`, { name: 'in.ndjson', out: 'out.ndjson' })
  const { baseUrl, received } = await issuer()
  expect((await bulk.run(baseUrl)).exit).toBe(0)
  expect(received[0]?.body).toEqual({ template_id: 'tpl_1', ...line })
  expect(JSON.parse(bulk.read('out.ndjson'))).toMatchObject({
    line: 1,
    external_issue_id: 'a,"b"',
    redeem_code: codeOf('a,"b"'),
  })
  const asCsv = new Bulk(`${JSON.stringify(line)}\n`, { name: 'in.ndjson' })
  expect((await asCsv.run(baseUrl)).exit).toBe(0)
  expect(asCsv.read('out.csv')).toContain('\n1,"a,""b""",u,"vch_a,""b""","CODE-a,""b""",')
})

test('issue-many lists refused rows with line and reason, issues the others and exits 11', async () => {
  const bulk = Bulk.of(['a', 'b', 'c', 'd'])
  const { baseUrl } = await issuer((id) =>
    id === 'b' ? refusal(409, 'TEMPLATE_QUOTA_EXHAUSTED') : id === 'd' ? refusal(400, 'VALIDATION_FAILED') : undefined,
  )
  const { exit, stdout, stderr } = await bulk.run(baseUrl, ['--json', '--concurrency', '1'])
  expect([exit, stderr]).toEqual([11, ''])
  const errors = join(bulk.dir, 'out.errors.csv')
  expect(JSON.parse(stdout)).toMatchObject({ total: 4, issued: 2, failed: 2, errors })
  expect(bulk.read('out.errors.csv').split('\n')).toEqual([
    `line,${head},code,message,request_id`,
    '3,b,user-b,TEMPLATE_QUOTA_EXHAUSTED,Refused as TEMPLATE_QUOTA_EXHAUSTED.,req_2',
    '5,d,user-d,VALIDATION_FAILED,Refused as VALIDATION_FAILED.,req_2',
    '',
  ])
  expect(statSync(errors).mode & 0o777).toBe(0o600)
  expect(bulk.ids()).toEqual(['a', 'c'])

  const again = await issuer((id) => (id === 'd' ? refusal(400, 'VALIDATION_FAILED') : undefined))
  const elsewhere = await bulk.run(again.baseUrl, ['--resume'])
  expect([elsewhere.exit, again.received]).toEqual([2, []])
})

test('issue-many with failed rows counts them by code, and names the next command', async () => {
  const bulk = Bulk.of(['a', 'b', 'c', 'd'])
  const { baseUrl } = await issuer((id) =>
    id === 'a' ? undefined : refusal(409, id === 'b' ? 'EXTERNAL_ISSUE_ID_CONFLICT' : 'TEMPLATE_QUOTA_EXHAUSTED'),
  )
  const { exit, stdout, stderr } = await bulk.run(baseUrl, ['--concurrency', '1'], { terminal: true, columns: 80 })
  expect(exit).toBe(11)
  expect(stdout).toMatch(/✗ 3 of 4 rows failed: 1 EXTERNAL_ISSUE_ID_CONFLICT, 2 TEMPLATE_QUOTA_EXHAUSTED\./)
  const command = /`(voucherctl [^`]+)`/.exec(stderr)?.[1] ?? ''
  expect(command).toContain('vouchers issue-many --resume ')
  expect((await cli(command.split(' ').slice(1), { env: secrets })).exit).toBe(11)
  const { failures, next } = JSON.parse((await bulk.run(baseUrl, ['--resume', '--json'])).stdout)
  expect(failures).toEqual({ EXTERNAL_ISSUE_ID_CONFLICT: 1, TEMPLATE_QUOTA_EXHAUSTED: 2 })
  expect(next).toContain('--resume')
})

test('the command that continues issue-many has the values that were typed at prompts', async () => {
  const bulk = Bulk.of(['a'])
  const { baseUrl } = await issuer(() => refusal(409, 'TEMPLATE_QUOTA_EXHAUSTED'))
  const args = ['vouchers', 'issue-many', '--base-url', baseUrl]
  const replies = [bulk.input, 'tpl_1', bulk.out]
  const { exit, stderr } = await cli(args, { env: secrets, terminal: true, replies })
  expect(exit).toBe(11)
  const words = /`voucherctl ([^`]+)`/.exec(stderr)?.[1]?.split(' ') ?? []
  expect(words).toEqual(expect.arrayContaining(['--resume', '--template', 'tpl_1', '--out', bulk.out, bulk.input]))
})

test('issue-many --resume retries failed rows and replaces the list of errors', async () => {
  const bulk = Bulk.of(['a', 'b', 'c'])
  let isFull = true
  const { baseUrl, received } = await issuer((id) =>
    id !== 'a' && isFull ? refusal(409, 'TEMPLATE_QUOTA_EXHAUSTED') : undefined,
  )
  expect((await bulk.run(baseUrl)).exit).toBe(11)
  expect(bulk.rows('out.errors.csv')).toHaveLength(2)
  isFull = false
  received.length = 0
  const { exit, stdout } = await bulk.run(baseUrl, ['--resume', '--json'])
  expect(exit).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ total: 3, issued: 2, skipped: 1, failed: 0, errors: null })
  expect(received).toHaveLength(2)
  expect(bulk.ids().sort()).toEqual(['a', 'b', 'c'])
  expect(existsSync(join(bulk.dir, 'out.errors.csv'))).toBe(false)
})

test('issue-many exits 2 for a file with invalid rows and lists these rows', { tags: 'bulk-commands/1' }, async () => {
  const bulk = new Bulk(`\ufeff${head}\r\na,u\r\nb,\r\n"c\r\nd",v\r\na,w\r\ne"f,x\r\n`)
  const { baseUrl, received } = await issuer()
  const { exit, stdout, stderr } = await bulk.run(baseUrl, ['--json', '--errors', join(bulk.dir, 'bad.ndjson')])
  expect([exit, stdout, received]).toEqual([2, '', []])
  const error = errorOf(stderr)
  expect(error).toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining('3 rows cannot be sent of 5') })
  expect(error.details.errors).toMatchObject([
    { pointer: 'line 3', message: 'recipient_user_id is missing' },
    { pointer: 'line 6', message: 'has the external_issue_id of line 2' },
    { pointer: 'line 7', message: 'has a quote that does not end' },
  ])
  const listed = bulk
    .read('bad.ndjson')
    .match(/"line":\d+|"code":"\w+"/g)
    ?.join(' ')
  expect(listed).toBe('"line":3 "code":"VALUE_MISSING" "line":6 "code":"DUPLICATE" "line":7 "code":"MALFORMED"')
  expect(existsSync(bulk.out)).toBe(false)
  writeFileSync(bulk.input, `${head}\na,u\n`)
  expect((await bulk.run(baseUrl, ['--errors', join(bulk.dir, 'bad.ndjson')])).exit).toBe(0)
  expect(existsSync(join(bulk.dir, 'bad.ndjson'))).toBe(false)
})

test('issue-many says ten of 25 different mistakes, and how many more there are', async () => {
  const bulk = new Bulk(`${head}\n${Array.from({ length: 25 }, (_, i) => `a${',u'.repeat(i + 2)}\n`).join('')}`)
  const { stderr } = await bulk.run(`http://127.0.0.1:1`, ['--json'])
  expect(errorOf(stderr).details).toMatchObject({ errors: { length: 10 }, more: 15 })
  expect(bulk.rows('out.errors.csv')).toHaveLength(25)
})

test('issue-many from a pipe lists invalid rows and issues the others', { tags: 'bulk-commands/1' }, async () => {
  const bulk = Bulk.of([])
  const { baseUrl, issued } = await issuer()
  const { exit, stdout } = await bulk.pipe(baseUrl, `${head}\na,u\nb,\na,w\nc,x\n`, ['--json'])
  expect([exit, JSON.parse(stdout)]).toEqual([11, expect.objectContaining({ total: 4, issued: 2, failed: 2 })])
  expect([...issued.keys()]).toEqual(['a', 'c'])
  expect(bulk.rows('out.errors.csv').map(({ line, code }) => [line, code])).toEqual([
    ['3', 'VALUE_MISSING'],
    ['4', 'DUPLICATE'],
  ])
  const again = await bulk.pipe(baseUrl, `${head}\nd,x\na,u\n`, ['--json', '--resume'])
  expect(JSON.parse(again.stdout)).toMatchObject({ total: 2, issued: 1, skipped: 1, failed: 0 })
  expect(bulk.ids().sort()).toEqual(['a', 'c', 'd'])
})

test('issue-many never overwrites a file that it did not write', { tags: 'bulk-commands/5' }, async () => {
  const { baseUrl, received } = await issuer()
  for (const name of ['out.csv', 'out.csv.journal', 'out.errors.csv']) {
    const bulk = Bulk.of(['a'])
    writeFileSync(join(bulk.dir, name), 'precious\n')
    for (const more of [[], ['--resume']]) {
      const { exit, stderr } = await bulk.run(baseUrl, [...more, '--json'])
      expect([exit, errorOf(stderr).code]).toEqual([2, 'USAGE'])
      expect(bulk.read(name)).toBe('precious\n')
    }
  }
  const bulk = Bulk.of(['a'])
  expect((await bulk.run(baseUrl)).exit).toBe(0)
  const { exit, stderr } = await bulk.run(baseUrl, ['--json'])
  expect([exit, errorOf(stderr).hint]).toEqual([2, expect.stringContaining('--resume')])
  expect(received).toHaveLength(1)
})

test('issue-many --resume requires template, server and file of its run', { tags: 'bulk-commands/5' }, async () => {
  const bulk = Bulk.of(['a', 'b'])
  const { baseUrl, received } = await issuer()
  expect((await bulk.run(baseUrl)).exit).toBe(0)
  received.length = 0
  const refused = async (args: readonly string[]) => {
    const { exit, stderr } = await cli([...args, '--resume', '--json'], { env: secrets })
    expect(exit).toBe(2)
    return errorOf(stderr).message
  }
  const args = bulk.args(baseUrl)
  expect(await refused(args.map((it) => (it === 'tpl_1' ? 'tpl_2' : it)))).toContain(
    'another template (tpl_1, now tpl_2)',
  )
  expect(await refused(args.map((it) => (it === baseUrl ? 'http://127.0.0.1:1' : it)))).toContain('another server')
  expect(await refused(args.map((it) => (it === bulk.input ? '-' : it)))).toContain('another content of FILE')
  writeFileSync(bulk.input, `${head}\na,u\nc,v\n`)
  expect(await refused(args)).toContain('another content of FILE')
  expect(received).toEqual([])
})

const here = `${process.pid}@${hostname()}`

test.each([
  [6, 'still runs', here],
  [0, 'was killed', `2147483646@${hostname()}`],
  [0, 'ended with a restart, even if its PID is in use again', `${here} another-boot 1`],
])('a second issue-many on the same files exits %i if the first one %s', async (exit, _what, holder) => {
  const bulk = Bulk.of(['a'])
  const { baseUrl } = await issuer()
  const lock = `${bulk.out}.journal.lock`
  writeFileSync(lock, holder)
  const ran = await bulk.run(baseUrl, ['--json'])
  expect([ran.exit, existsSync(lock)]).toEqual([exit, exit !== 0])
  if (exit !== 0) expect(errorOf(ran.stderr).code).toBe('RESULTS_IN_USE')
})

test('issue-many breaks an empty lock, which a power failure leaves, once it is old', async () => {
  const bulk = Bulk.of(['a'])
  const { baseUrl } = await issuer()
  const lock = `${bulk.out}.journal.lock`
  writeFileSync(lock, '')
  expect((await bulk.run(baseUrl)).exit).toBe(6)
  utimesSync(lock, 0, 0)
  expect((await bulk.run(baseUrl)).exit).toBe(0)
})

test.each<[string, string]>([
  ['zeros', '\0'.repeat(400)],
  ['half a line', '{"journal":"voucherctl vouchers issue-many","vers'],
  ['a line without its first bytes', `${'\0'.repeat(400)}","sum":"00000000"}\n`],
])('issue-many --resume begins a run after a power failure left a journal of %s', async (_what, left) => {
  const bulk = Bulk.of(['a'])
  const { baseUrl } = await issuer()
  writeFileSync(`${bulk.out}.journal`, left)
  expect((await bulk.run(baseUrl, ['--resume'])).exit).toBe(0)
  expect((await bulk.run(baseUrl, ['--resume'])).exit).toBe(0)
})

test.each([
  [401, 'TOKEN_REVOKED', 4],
  [403, 'INSUFFICIENT_SCOPE', 4],
  [404, 'TEMPLATE_NOT_FOUND', 5],
  [409, 'TEMPLATE_NOT_ACTIVE', 6],
  [409, 'TEMPLATE_VALIDITY_ENDED', 6],
  [426, 'SECURE_TRANSPORT_REQUIRED', 10],
])('issue-many ends at a %i %s, and --resume continues', { tags: 'bulk-commands/6' }, async (status, code, exit) => {
  const bulk = Bulk.of(idsOf(50))
  let isFixed = false
  const { baseUrl, received } = await issuer((id) => (id === 'order-9' && !isFixed ? refusal(status, code) : undefined))
  const first = await bulk.run(baseUrl, ['--json', '--concurrency', '1'])
  expect([first.exit, first.stdout]).toEqual([exit, ''])
  expect(errorOf(first.stderr)).toMatchObject({
    code,
    hint: expect.stringContaining('9 of 50 rows have their voucher'),
    details: { issued: 9, failed: 0 },
  })
  expect(received.filter((it) => it.method === 'POST')).toHaveLength(10)
  isFixed = true
  expect((await bulk.run(baseUrl, ['--resume'])).exit).toBe(0)
  expect(bulk.ids().sort()).toEqual(idsOf(50).sort())
  expect(existsSync(join(bulk.dir, 'out.errors.csv'))).toBe(false)
})

test('issue-many exits 9 if the server is unreachable, and fails no row', { tags: 'bulk-commands/6' }, async () => {
  const bulk = Bulk.of(idsOf(40))
  let isAway = true
  const { baseUrl, issued } = await issuer((_id, call) => (isAway && call >= 20 ? { drop: true } : undefined))
  const { exit, stdout, stderr } = await bulk.run(baseUrl, ['--json', '--concurrency', '4'])
  expect([exit, stdout]).toEqual([9, ''])
  const hint = expect.stringContaining('--resume')
  expect(errorOf(stderr)).toMatchObject({ code: 'NETWORK_ERROR', hint, details: { failed: 0 } })
  expect(stderr).not.toContain('--idempotency-key')
  isAway = false
  const resumed = await bulk.run(baseUrl, ['--resume', '--json'])
  expect([resumed.exit, JSON.parse(resumed.stdout).replayed]).toEqual([0, expect.any(Number)])
  // The server replays the rows whose responses were lost, because their idempotency keys are the same.
  expect(JSON.parse(resumed.stdout).replayed).toBeGreaterThan(0)
  expect([issued.size, bulk.ids().sort()]).toEqual([40, idsOf(40).sort()])
})

test('issue-many without a server exits 9 and reports 0 issued rows', async () => {
  const bulk = Bulk.of(['a'])
  const { exit, stderr } = await bulk.run(`http://127.0.0.1:${await closedPort()}`, ['--json'])
  expect([exit, errorOf(stderr).code]).toEqual([9, 'NETWORK_ERROR'])
  expect(errorOf(stderr).hint).toContain('0 of 1 rows have their voucher')
})

test('issue-many removes its files if it issued nothing, so the next run needs no --resume', async () => {
  const bulk = Bulk.of(['a'])
  let isRevoked = true
  const { baseUrl } = await issuer(() => (isRevoked ? refusal(401, 'TOKEN_REVOKED') : undefined))
  expect((await bulk.run(baseUrl)).exit).toBe(4)
  expect(readdirSync(bulk.dir)).toEqual(['in.csv'])
  expect((await bulk.pipe(baseUrl, '')).exit).toBe(2)
  expect(readdirSync(bulk.dir)).toEqual(['in.csv'])
  isRevoked = false
  expect((await bulk.run(baseUrl)).exit).toBe(0)
})

test('issue-many fails only the row that gets no response', async () => {
  const bulk = Bulk.of(idsOf(200))
  const { baseUrl } = await issuer((id) => (id === 'order-5' ? { drop: true } : undefined))
  const { exit, stdout } = await bulk.run(baseUrl, ['--json', '--concurrency', '8'])
  expect([exit, JSON.parse(stdout)]).toEqual([11, expect.objectContaining({ issued: 199, failed: 1 })])
  expect(bulk.rows('out.errors.csv')).toMatchObject([{ external_issue_id: 'order-5', code: 'NETWORK_ERROR' }])
})

test('issue-many fails a row that gets a 500, and exits 9 after ten of them', { tags: 'bulk-commands/6' }, async () => {
  const failing = (id: string) => (id === 'order-3' ? refusal(500, 'INTERNAL_ERROR') : undefined)
  const one = Bulk.of(idsOf(20))
  const some = await issuer(failing)
  expect((await one.run(some.baseUrl, ['--concurrency', '1'])).exit).toBe(11)
  expect(one.rows('out.errors.csv')).toMatchObject([{ external_issue_id: 'order-3', code: 'INTERNAL_ERROR' }])
  const all = Bulk.of(idsOf(50))
  const broken = await issuer(() => refusal(500, 'INTERNAL_ERROR'))
  expect((await all.run(broken.baseUrl, ['--concurrency', '1'])).exit).toBe(9)
  expect(broken.received).toHaveLength(10)
})

test('issue-many fails no row for a 429, and waits as the server asks', { tags: 'bulk-commands/7' }, async () => {
  const bulk = Bulk.of(idsOf(60))
  let refused = 0
  const { baseUrl, issued, received } = await issuer((_id, call) =>
    call % 20 === 19 && (refused += 1) <= 3
      ? { ...refusal(429, 'RATE_LIMITED'), headers: { 'retry-after': '1' } }
      : undefined,
  )
  const { exit, stdout } = await bulk.run(baseUrl, ['--json', '--concurrency', '4'])
  expect([exit, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ issued: 60, failed: 0 })])
  expect([issued.size, received.length]).toEqual([60, 63])
})

test('issue-many exits 7 for a 429 with a wait above 5 minutes', { tags: 'bulk-commands/7' }, async () => {
  for (const seconds of ['301', '999999999', '31536000000']) {
    const bulk = Bulk.of(idsOf(20))
    let isBusy = true
    const { baseUrl, issued } = await issuer((_id, call) =>
      isBusy && call >= 10 ? { ...refusal(429, 'RATE_LIMITED'), headers: { 'retry-after': seconds } } : undefined,
    )
    const { exit, stdout, stderr } = await bulk.run(baseUrl, ['--json', '--concurrency', '2'])
    expect([exit, stdout]).toEqual([7, ''])
    expect(errorOf(stderr).hint).toContain(`The server asks to wait ${seconds} s. 10 of 20 rows have their voucher.`)
    expect(errorOf(stderr).hint).toMatch(/To go on: `voucherctl vouchers issue-many --resume .+`/)
    isBusy = false
    expect((await bulk.run(baseUrl, ['--resume'])).exit).toBe(0)
    expect([issued.size, [...issued.values()].every((times) => times === 1)]).toEqual([20, true])
  }
})

test('issue-many prints on stderr how long it waits after a 429', async () => {
  const { baseUrl } = await issuer((_id, call) =>
    call === 2 ? { ...refusal(429, 'RATE_LIMITED'), headers: { 'retry-after': '1' } } : undefined,
  )
  const { exit, stderr } = await Bulk.of(idsOf(5)).run(baseUrl, ['--concurrency', '1'])
  expect([exit, stderr]).toEqual([0, expect.stringContaining('The server asks to wait: calls go on in 1 s.\n')])
})

test('an interrupted issue-many completes and records the rows in flight and suggests --resume', async () => {
  const bulk = Bulk.of(idsOf(100))
  const interruption = new AbortController()
  const { baseUrl, issued, received } = await issuer((_id, call) => void (call === 30 && interruption.abort()))
  const { exit, stderr } = await bulk.run(baseUrl, ['--json', '--concurrency', '4'], { signal: interruption.signal })
  expect([exit, errorOf(stderr).code]).toEqual([130, 'ABORTED'])
  expect(errorOf(stderr).hint).toContain(
    `${issued.size} of 100 rows have their voucher. To go on: \`voucherctl vouchers issue-many --resume`,
  )
  expect(bulk.ids().sort()).toEqual([...issued.keys()].sort())
  expect(received.length).toBeLessThan(40)
  expect((await bulk.run(baseUrl, ['--resume'])).exit).toBe(0)
  expect([...issued.values()].filter((times) => times > 1)).toEqual([])
})

test('issue-many --dry-run checks the file and prints one request, but sends and writes nothing', async () => {
  const bulk = Bulk.of(['a', 'b'])
  const { baseUrl, received } = await issuer()
  const { exit, stdout } = await bulk.run(baseUrl, ['--dry-run', '--json'])
  const { requests, actions } = JSON.parse(stdout)
  expect([exit, received]).toEqual([0, []])
  const headers = { 'idempotency-key': expect.stringContaining('issue-many-') }
  expect(requests).toMatchObject([{ method: 'POST', body: { external_issue_id: 'a' }, headers }])
  expect(actions[0]).toContain('issue 2 vouchers')
  expect(stdout).not.toContain('CANARY')
  writeFileSync(bulk.input, `${head}\na,\n`)
  expect((await bulk.run(baseUrl, ['--dry-run'])).exit).toBe(2)
  expect(readdirSync(bulk.dir)).toEqual(['in.csv'])
})

test('issue-many on a production profile needs --yes or the template id', { tags: 'confirmations/1' }, async () => {
  const bulk = Bulk.of(['a', 'b'])
  const { baseUrl, received } = await issuer()
  const env = productionEnv(baseUrl)
  const args = bulk.args(baseUrl).filter((it) => it !== '--base-url' && it !== baseUrl)
  const unasked = await cli(args, { env })
  expect([unasked.exit, received, existsSync(bulk.out)]).toEqual([3, [], false])
  const wrong = await cli(args, { env, terminal: true, replies: ['yes'] })
  expect([wrong.exit, received]).toEqual([3, []])
  const typed = await cli(args, { env, terminal: true, replies: ['tpl_1'] })
  expect([typed.exit, received.length]).toEqual([0, 2])
  expect(typed.asked[0]).toContain('Issuing 2 vouchers')
})

test.each([
  [['--out', 'x.txt'], 2, '.csv, .ndjson or .jsonl'],
  [['--out', '-'], 2, '--out must be a path'],
  [['--out', 'x.csv', '--errors', 'x.csv'], 2, 'three files'],
  [['--out', 'x.csv', '--concurrency', '0'], 2, 'whole number from 1 to 256'],
  [['--out', 'x.csv', '--idempotency-key', 'k'], 2, '--idempotency-key has no meaning'],
  [[], 3, '--out'],
])('issue-many with the flags %j exits %i with a message that contains "%s"', async (flags, exit, message) => {
  const words = 'vouchers issue-many nowhere.csv --template tpl_1 --base-url http://127.0.0.1:1'
  const ran = await cli([...words.split(' '), ...flags], { env: secrets })
  expect([ran.exit, ran.stdout]).toEqual([exit, ''])
  expect(ran.stderr).toContain(message)
})

test.each([
  ['nowhere.csv', 'There is no file'],
  ['.', 'is a folder'],
])('issue-many exits 2 for the unreadable FILE %s', async (name, message) => {
  const bulk = Bulk.of(['a'])
  const args = bulk.args('http://127.0.0.1:1').map((it) => (it === bulk.input ? join(bulk.dir, name) : it))
  const { exit, stderr } = await cli(args, { env: secrets })
  expect([exit, stderr]).toEqual([2, expect.stringContaining(message)])
})

test('issue-many clears its progress line at the end and prints none with --quiet', async () => {
  const bulk = Bulk.of(['a'])
  const { baseUrl } = await issuer()
  const { stderr } = await bulk.run(baseUrl, [], { terminal: true })
  expect(stderr.endsWith('\r\u001b[K')).toBe(true)
  expect((await Bulk.of(['a']).run(baseUrl, ['--quiet'], { terminal: true })).stderr).toBe('')
})

test('issue-many resolves relative paths and refuses the same file under two names', async () => {
  const bulk = Bulk.of(['a', 'b'])
  const { baseUrl } = await issuer()
  const run = (...names: readonly string[]) =>
    cli(['vouchers', 'issue-many', ...names, '--template', 'tpl_1', '--base-url', baseUrl, '--json'], {
      env: secrets,
      cwd: bulk.dir,
    })
  const ran = await run('in.csv', '--out', 'out.csv')
  expect([ran.exit, JSON.parse(ran.stdout)]).toMatchObject([
    0,
    { issued: 2, out: 'out.csv', journal: 'out.csv.journal' },
  ])
  expect(bulk.ids()).toEqual(['a', 'b'])
  expect(await run('in.csv', '--out', 'new.csv', '--errors', './new.csv')).toMatchObject({ exit: 2, stdout: '' })
  expect((await run('./in.csv', '--out', 'in.csv')).stderr).toContain('must be three files')
})

const damaged = [
  '8.61391E+12|8,61391E+12|1E+15|8.6e+12|-1.5E-07|8.61391E+12\t|8.61391 E+12|9 E+12|#REF!|#¡REF!|#BEZUG!|#WERT!|#N/A',
  '#N/D|#NV|#NAME?|#¿NOMBRE?|#DIV/0!|#VALUE!|#NULL!|#NUM!|#SPILL!|#ЗНАЧ!|########|Err:502|#ref!|#数値!|#n/a| #REF! ',
  '\u00a0#NAME?',
].flatMap((it) => it.split('|'))
const sound = 'a-1|12e34|4e-12|1.5|0012|2027-01-31|5-Mar|#1|#abc|a!|o#N/A|E+12|Err'.split('|')
const rowsWith = (ids: readonly string[]) =>
  `external_issue_id;recipient_user_id\n${ids.map((it) => `"${it}";u\n`).join('')}`

test('issue-many refuses ids of a spreadsheet, unless a flag keeps them', { tags: 'bulk-commands/1' }, async () => {
  const { baseUrl, received, issued } = await issuer()
  const bulk = new Bulk(rowsWith(['a-1', ...damaged]))
  const { exit, stderr } = await bulk.run(baseUrl)
  expect([exit, received.length]).toEqual([2, 0])
  expect(stderr).toContain(`${damaged.length} rows cannot be sent of ${damaged.length + 1}`)
  expect(stderr).toContain(`line 3 and ${damaged.length - 1} more: external_issue_id is`)
  expect(bulk.rows('out.errors.csv').map((it) => it.line)).toEqual(damaged.map((_, i) => String(i + 3)))
  expect((await bulk.run(baseUrl, ['--allow-spreadsheet-values'])).exit).toBe(0)
  expect([...issued.keys()].toSorted()).toEqual(['a-1', ...damaged].toSorted())
})

test('issue-many issues ids that only resemble values of a spreadsheet', async () => {
  const { baseUrl, issued } = await issuer()
  expect((await new Bulk(rowsWith(sound)).run(baseUrl)).exit).toBe(0)
  expect([...issued.keys()].toSorted()).toEqual(sound.toSorted())
})

test('issue-many refuses dates in a column that otherwise has only digits', async () => {
  const { baseUrl, received } = await issuer()
  const dates = [
    '2027-01-31|31.01.2027|1/31/27|5-Mar|5. März|Jan-27|Mar 5|1月5日|2027-01-31 00:00| 5-Mar\t|05. Mrz|01.05.|12-дек',
    'янв.26|12-paź|12:30|12:30:15 PM|1E15',
  ].flatMap((it) => it.split('|'))
  const rows = [...dates, '1001', '1002'].map((it, i) => `id-${i},"${it}"\n`)
  const { exit, stderr } = await new Bulk(`${head}\n${rows.join('')}`).run(baseUrl)
  expect([exit, received.length]).toEqual([2, 0])
  expect(stderr).toContain(`line 2 and ${dates.length - 1} more: recipient_user_id `)
})

test.each([
  ['times alone', ['12:30', '1E15', '12-дек']],
  ['digits, and others', ['1001', 'A-17', 'INV-2026-01', '12-VIP', '1002-1', '4e12345', '1.5']],
  ['dates alone', ['2027-01-31', '2027-02-01', '1/31/27']],
  ['digits, and one that ends like a year', ['1001', '1002', 'VIP-27']],
  ['digits, and one of digits and dashes', ['1001', '1002', '12-34-56']],
])('issue-many issues ids of %s', async (_what, ids) => {
  const { baseUrl, issued } = await issuer()
  expect((await new Bulk(rowsWith(ids)).run(baseUrl)).exit).toBe(0)
  expect([...issued.keys()].toSorted()).toEqual(ids.toSorted())
})

test('issue-many refuses rows of a pipe whose ids a spreadsheet made, and issues the others', async () => {
  const text =
    '{"external_issue_id":"#REF!","recipient_user_id":"u"}\n{"external_issue_id":"a","recipient_user_id":"u"}\n'
  const { baseUrl, issued } = await issuer()
  expect((await new Bulk('').pipe(baseUrl, text)).exit).toBe(11)
  expect([...issued.keys()]).toEqual(['a'])
})
