import {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../../../src/store/migrations/index.js'
import { run } from '../../../../src/store/operation.js'
import { closeSqliteFile, openSqliteFile } from '../../../../src/store/sqlite/open.js'
import { openSqliteStore } from '../../../../src/store/sqlite/store.js'
import { cli, type Given, temporaryDir } from '../../../support/cli/cli.js'
import { temporaryFolder } from '../../../support/server/server.js'
import { rowLinesOf } from '../../../support/store/move.js'

let home: string
const inHome = (args: string, given: Given = {}) => cli(args, { home, ...given })
const errorOf = (stderr: string) =>
  (JSON.parse(stderr) as { error: { code: string; hint: string; message: string } }).error

/** Creates the data folder of a stopped server with some applications. */
async function makeStore(name: string, applications = 3): Promise<string> {
  const dir = join(home, name)
  const started = await inHome(`server start --port 0 --log-level silent --data ${dir} --json`, {
    signal: AbortSignal.abort(),
  })
  expect(started.exit).toBe(0)
  const store = openSqliteStore(join(dir, 'voucherctl.db'))
  await store.write(function* () {
    for (let n = 1; n <= applications; n++) {
      const row = [
        `app_${String(n).padStart(9, '0')}`,
        'acme',
        `Shop ${n} caf\u00e9`,
        null,
        'active',
        0,
        '[]',
        '[]',
        'optional',
        1,
        2,
      ]
      yield* run('insert into applications values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)', row)
    }
  })
  await store.close()
  return dir
}

/** Creates a data folder with the keys of another data folder and no database. */
function folderWithKeys(name: string, of: string): string {
  const dir = join(home, name)
  mkdirSync(dir)
  copyFileSync(join(of, 'keys.json'), join(dir, 'keys.json'))
  return dir
}

// Starting a server for each test would take longer than the tests.
let pristine: string
beforeAll(async () => {
  home = temporaryFolder()
  pristine = await makeStore('source')
})
afterAll(() => rmSync(dirname(pristine), { recursive: true, force: true }))

let source: string
beforeEach(() => {
  home = temporaryDir()
  source = join(home, 'source')
  cpSync(pristine, source, { recursive: true, preserveTimestamps: true })
})

describe('server export', () => {
  test('server export --out makes a private file and prints row counts', { tags: 'export-and-import/1' }, async () => {
    const out = join(home, 'backup.ndjson')
    writeFileSync(out, 'of yesterday', { mode: 0o644 })
    const { exit, stdout, stderr } = await inHome(`server export --data ${source} --out ${out} --json`)
    expect([exit, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({
      store: join(source, 'voucherctl.db'),
      total: 4,
      rows: { credential_keys: 1, applications: 3 },
      total_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(statSync(out).mode & 0o777).toBe(0o600)
    expect(rowLinesOf(readFileSync(out, 'utf8')).length).toBe(4)
    expect(readdirSync(home).sort()).toEqual(['backup.ndjson', 'source'])
    const shown = await inHome(`server export --data ${source} --out ${out}`)
    expect(shown.stdout).toMatch(
      /Exported 4 rows of .*voucherctl\.db\.\n\n {2}credential_keys {2}1\n {2}applications {5}3\n$/,
    )
  })

  test('server export --out follows a symbolic link', async () => {
    const [link, file] = [join(home, 'latest'), join(home, 'backup.ndjson')]
    writeFileSync(file, '')
    symlinkSync(file, link)
    expect((await inHome(`server export --data ${source} --out ${link}`)).exit).toBe(0)
    expect([lstatSync(link).isSymbolicLink(), statSync(file).size > 0]).toEqual([true, true])
  })

  test('server export without --out writes only the export to stdout, whatever the output format', async () => {
    const out = join(home, 'backup.ndjson')
    await inHome(`server export --data ${source} --out ${out}`)
    const lines = rowLinesOf(readFileSync(out, 'utf8'))
    for (const more of ['', '--out -', '--json', '-o yaml']) {
      const { exit, stdout, stderr } = await inHome(`server export --data ${source} ${more}`)
      expect([exit, stderr, rowLinesOf(stdout)]).toEqual([0, '', lines])
    }
    const named = await inHome(`server export --data ${source} --out -`, { terminal: true, columns: 80 })
    expect(rowLinesOf(named.stdout)).toEqual(lines)
  })

  test('server export refuses a profile that names an address and no data folder', async () => {
    await inHome('profiles set second --base-url http://127.0.0.1:8431')
    const { exit, stderr } = await inHome('server export -p second --out backup.ndjson')
    expect([exit, stderr]).toEqual([
      2,
      expect.stringContaining('Profile second names http://127.0.0.1:8431, and no data folder.'),
    ])
    const named = await inHome(`server export -p second --data ${source} --out backup.ndjson`)
    expect(named.exit).toBe(0)
  })

  test('server export without --out exits 2 on a terminal', async () => {
    const { exit, stdout, stderr } = await inHome(`server export --data ${source}`, { terminal: true })
    expect([exit, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/terminal\. .*\(USAGE\).*\n.*hint:.* Name a file with --out FILE/)
  })

  test.each(['--jq .total', '--fields total'])(
    'server export to stdout refuses %s, because no summary is printed',
    async (flag) => {
      expect((await inHome(`server export --data ${source} ${flag}`)).exit).toBe(2)
      const ran = await inHome(`server export --data ${source} ${flag} --out ${join(home, 'x')} --json`)
      expect([ran.exit, ran.stdout.replaceAll(/\s/g, '')]).toEqual([0, flag.startsWith('--jq') ? '4' : '{"total":4}'])
    },
  )

  test('server export exits 1 if the reader of stdout closes early', async () => {
    const { exit, stderr } = await inHome(`server export --data ${source} --json`, { linesTaken: 0 })
    expect([exit, errorOf(stderr).code]).toEqual([1, 'FILE_UNWRITABLE'])
  })

  test('an interrupted server export leaves no file', { tags: 'export-and-import/1' }, async () => {
    const signal = AbortSignal.abort()
    const ran = await inHome(`server export --data ${source} --out ${join(home, 'x')} --json`, { signal })
    expect([ran.exit, errorOf(ran.stderr).code]).toEqual([130, 'ABORTED'])
    expect(readdirSync(home)).toEqual(['source'])
  })

  test('server export removes the drafts of killed exports in its folder, and no other files', async () => {
    const ended = 999_999_999
    const dayAgo = Date.now() / 1000 - 86_401
    const drafts = [
      { of: hostname(), pid: ended, isKept: false },
      { of: hostname(), pid: process.pid, isKept: true },
      { of: hostname(), pid: process.pid, writtenAt: dayAgo, isKept: false },
      { of: 'elsewhere', pid: ended, isKept: true },
      { of: 'elsewhere', pid: ended, writtenAt: dayAgo, isKept: false },
    ].map((it, n) => ({ ...it, name: `monday.ndjson.tmp-${it.of}-${it.pid}-0000000${n}` }))
    for (const { name, writtenAt } of drafts) {
      writeFileSync(join(home, name), '')
      if (writtenAt !== undefined) utimesSync(join(home, name), writtenAt, writtenAt)
    }
    const others = [`monday.ndjson.tmp-${hostname()}-${ended}-notes`, `tmp-${hostname()}-${ended}-00000000`]
    for (const name of others) writeFileSync(join(home, name), '')
    expect((await inHome(`server export --data ${source} --out ${join(home, 'tuesday.ndjson')}`)).exit).toBe(0)
    const kept = drafts.filter(({ isKept }) => isKept).map(({ name }) => name)
    expect(readdirSync(home).sort()).toEqual(['source', 'tuesday.ndjson', ...others, ...kept].sort())
  })

  test('server export exits 1 while a server uses the data folder, and says how to stop the server', async () => {
    const store = openSqliteStore(join(source, 'voucherctl.db'))
    const { exit, stderr } = await inHome(`server export --data ${source} --json`)
    await store.close()
    expect([exit, errorOf(stderr).code]).toEqual([1, 'DATA_FOLDER_IN_USE'])
    expect(errorOf(stderr).hint).toContain(`\`voucherctl server stop --data ${source}\``)
  })

  test.each(['{home}/nowhere/x', '{home}', '/dev/null'])(
    'server export --out %s exits 1 for a path that it cannot replace with a file',
    async (named) => {
      const out = named.replace('{home}', home)
      const { exit, stderr } = await inHome(`server export --data ${source} --out ${out} --json`)
      expect([exit, errorOf(stderr).code]).toEqual([1, 'FILE_UNWRITABLE'])
      expect(errorOf(stderr).message).toContain(out)
      expect(statSync('/dev/null').isCharacterDevice()).toBe(true)
      expect(readdirSync(home)).toEqual(['source'])
    },
  )

  test('server export exits 5 for a data folder without a database and creates no folder', async () => {
    const { exit, stderr } = await inHome(`server export --data ${join(home, 'none')} --json`)
    expect([exit, errorOf(stderr).code]).toEqual([5, 'STORE_NOT_FOUND'])
    expect(existsSync(join(home, 'none'))).toBe(false)
  })

  test('server export encrypts the transport keys by the key file', { tags: 'export-and-import/1' }, async () => {
    const keyFile = join(home, 'elsewhere.json')
    copyFileSync(join(source, 'keys.json'), keyFile)
    writeFileSync(join(source, 'keys.json'), readFileSync(join(await makeStore('other'), 'keys.json')))
    const refused = await inHome(`server export --data ${source} --json`)
    expect([refused.exit, errorOf(refused.stderr).code]).toEqual([1, 'KEYS_UNUSABLE'])
    const { exit, stdout } = await inHome(`server export --data ${source} --key-file ${keyFile}`)
    const { private_key: secret } = JSON.parse(readFileSync(join(source, 'secure-keys.json'), 'utf8')).keys[0]
    expect([exit, stdout.includes(secret)]).toEqual([0, false])
    expect(JSON.parse(stdout.split('\n')[0] as string).transport_keys).toMatch(/^key_\w+\.[\w-]+\.[\w-]+$/)
  })
})

describe('server import', { tags: 'export-and-import/2' }, () => {
  const exported = async () => {
    const out = join(home, 'backup.ndjson')
    expect((await inHome(`server export --data ${source} --out ${out}`)).exit).toBe(0)
    return out
  }

  test('server import fills an empty folder once, from a file or stdin', { tags: 'confirmations/3' }, async () => {
    const file = await exported()
    const text = readFileSync(file, 'utf8')
    for (const [name, how] of [
      ['one', file],
      ['two', '-'],
    ]) {
      const target = folderWithKeys(name as string, source)
      const { exit, stdout, stderr } = await inHome(`server import ${how} --data ${target} --json`, { stdin: text })
      expect([exit, stderr]).toEqual([0, ''])
      expect(JSON.parse(stdout)).toMatchObject({
        store: join(target, 'voucherctl.db'),
        total: 4,
        schema: SCHEMA_VERSION,
      })
      const again = await inHome(`server export --data ${target}`)
      expect(rowLinesOf(again.stdout)).toEqual(rowLinesOf(text))
      expect(statSync(join(target, 'voucherctl.db')).mode & 0o777).toBe(0o600)
      expect(statSync(join(target, 'secure-keys.json')).mode & 0o777).toBe(0o600)
      const twice = await inHome(`server import ${how} --data ${target} --json`, { stdin: text })
      expect([twice.exit, errorOf(twice.stderr).code]).toEqual([6, 'STORE_NOT_EMPTY'])
      expect(rowLinesOf((await inHome(`server export --data ${target}`)).stdout)).toEqual(rowLinesOf(text))
    }
  })

  test('server import --dry-run names what it needs and makes no file', async () => {
    const file = await exported()
    const target = folderWithKeys('target', source)
    const { exit, stdout, stderr } = await inHome(`server import ${file} --dry-run --data ${target}`)
    expect([exit, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^The export of 2\d{3}-.* is complete and can be imported: 4 rows\. Nothing was changed\.\n/)
    expect(stdout).toContain(`target          ${join(target, 'voucherctl.db')}, empty`)
    expect(stdout).toMatch(
      / schema {10}(\d+); this version has \1\n {2}keys {12}key_\w+, with equal check value\n {2}transport_keys {2}readable\n/,
    )
    expect([readdirSync(home).sort(), readdirSync(target)]).toEqual([
      ['backup.ndjson', 'source', 'target'],
      ['keys.json'],
    ])
    writeFileSync(file, readFileSync(file, 'utf8').replace('Shop 2', 'Shop 7'))
    const damaged = await inHome(`server import ${file} --dry-run --json --data ${target}`)
    expect([damaged.exit, errorOf(damaged.stderr)]).toMatchObject([
      2,
      {
        code: 'EXPORT_UNUSABLE',
        message: `${file} cannot be imported: the rows of applications (lines 3 to 5) are not those that were written.`,
      },
    ])
  })

  test.each([
    ['the keys are missing', 'KEYS_UNUSABLE', (target: string) => rmSync(join(target, 'keys.json'))],
    [
      'the keys are others',
      'KEYS_UNUSABLE',
      (target: string) => copyFileSync(join(home, 'other', 'keys.json'), join(target, 'keys.json')),
    ],
    [
      'the target has rows',
      'STORE_NOT_EMPTY',
      (target: string) => copyFileSync(join(source, 'voucherctl.db'), join(target, 'voucherctl.db')),
    ],
    [
      'the database is of another program',
      'STORE_UNUSABLE',
      (target: string) => writeFileSync(join(target, 'voucherctl.db'), 'x'.repeat(600)),
    ],
    [
      'the transport keys are others',
      'KEYS_UNUSABLE',
      (target: string) => copyFileSync(join(home, 'other', 'secure-keys.json'), join(target, 'secure-keys.json')),
    ],
    [
      'the folder belongs to PostgreSQL',
      'STORE_ELSEWHERE',
      (target: string) => writeFileSync(join(target, 'store.json'), '{"database":"postgres://db:5432/shop"}'),
    ],
    [
      'the folder is a file',
      'USAGE',
      (target: string) => {
        rmSync(target, { recursive: true })
        writeFileSync(target, '')
      },
    ],
  ] as const)('server import and its --dry-run fail if %s', { tags: 'data-folder/2' }, async (_if, code, spoil) => {
    const file = await exported()
    await makeStore('other')
    const target = folderWithKeys('target', source)
    spoil(target)
    const dry = await inHome(`server import ${file} --dry-run --json --data ${target}`)
    const real = await inHome(`server import ${file} --json --data ${target}`)
    expect([dry.exit, errorOf(dry.stderr).code]).toEqual([real.exit, code])
    expect(errorOf(real.stderr).code).toBe(code)
  })

  test('a failed server import creates no folder and leaves an existing database unchanged', async () => {
    const cut = readFileSync(await exported(), 'utf8')
      .split('\n')
      .slice(0, 4)
      .join('\n')
    const target = folderWithKeys('target', source)
    const fail = async () => (await inHome(`server import - --data ${target} --json`, { stdin: cut })).exit
    expect([await fail(), readdirSync(target)]).toEqual([2, ['keys.json']])
    const path = join(target, 'voucherctl.db')
    closeSqliteFile(openSqliteFile(path), path)
    const before = readdirSync(target)
    expect([await fail(), readdirSync(target)]).toEqual([2, before])
  })

  test('server import succeeds after a failed import of a truncated file', async () => {
    const file = await exported()
    const text = readFileSync(file, 'utf8')
    const target = folderWithKeys('target', source)
    const cut = await inHome(`server import - --data ${target} --json`, {
      stdin: text.split('\n').slice(0, 4).join('\n'),
    })
    expect([cut.exit, errorOf(cut.stderr)]).toMatchObject([
      2,
      { code: 'EXPORT_UNUSABLE', message: 'standard input cannot be imported: it was cut off after line 4.' },
    ])
    expect((await inHome(`server import ${file} --data ${target}`)).exit).toBe(0)
  })

  test('an interrupted server import leaves no database', async () => {
    const file = await exported()
    const target = folderWithKeys('target', source)
    const signal = AbortSignal.abort()
    const ran = await inHome(`server import ${file} --data ${target} --json`, { signal })
    expect([ran.exit, errorOf(ran.stderr).code]).toEqual([130, 'ABORTED'])
    expect(readdirSync(target)).toEqual(['keys.json'])
  })

  test('server import --key-file reads that key file and refuses a file that others can read', async () => {
    const file = await exported()
    const keyFile = join(home, 'keys.json')
    writeFileSync(keyFile, readFileSync(join(source, 'keys.json')), { mode: 0o644 })
    const open = await inHome(`server import ${file} --data ${join(home, 'new')} --key-file ${keyFile} --json`)
    expect([open.exit, errorOf(open.stderr).code]).toEqual([1, 'KEYS_UNUSABLE'])
    copyFileSync(join(source, 'keys.json'), join(home, 'closed.json'))
    const ran = await inHome(
      `server import ${file} --data ${join(home, 'new')} --key-file ${join(home, 'closed.json')}`,
    )
    expect(ran.exit).toBe(0)
    expect(existsSync(join(home, 'new', 'keys.json'))).toBe(false)
  })

  test('server import exits 2 if FILE is a folder or is missing', async () => {
    for (const path of [home, join(home, 'nowhere')]) {
      const { exit, stderr } = await inHome(`server import ${path} --json`)
      expect([exit, errorOf(stderr).code]).toEqual([2, 'FILE_UNREADABLE'])
    }
  })
})
