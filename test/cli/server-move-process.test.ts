import {
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { spawn } from 'node:child_process'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { rmSync } from 'node:fs'
import { openSqliteFile } from '../../src/store/sqlite-open.js'
import { run } from '../../src/store/operation.js'
import { openSqliteStore } from '../../src/store/sqlite.js'
import { built } from '../support/built-cli.js'
import { rowLinesOf } from '../support/move.js'
import { temporaryFolder } from '../support/server.js'

const home = temporaryFolder()
const source = join(home, 'source')
const file = join(home, 'backup.ndjson')
const ROWS = 24_000
/** SQLite keeps 64 MB of changed pages in memory: a store larger than that is written before its commit. */
const NAME_LENGTH = 3_500

/** A store that takes long enough to be moved that something can come between. */
beforeAll(async () => {
  await built.run(['server', 'start', '--detach', '--port', '0', '--data', source], home)
  await built.run(['server', 'stop', '--data', source], home)
  const store = openSqliteStore(join(source, 'voucherctl.db'))
  await store.write(function* () {
    const values = `'acme', printf('%0${NAME_LENGTH}d', i), null, 'active', 0, '[]', '[]', 'optional', 1, 2`
    yield* run(`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${ROWS})
      insert into applications select printf('app_%09d', i), ${values} from n`)
  })
  await store.close()
  expect((await built.run(['server', 'export', '--data', source, '--out', file], home)).exit).toBe(0)
}, 120_000)
afterAll(() => {
  rmSync(home, { recursive: true, force: true })
})

let made = 0
/** With the keys of the source and nothing else. */
function newTarget(): string {
  const dir = join(home, `target-${++made}`)
  mkdirSync(dir)
  copyFileSync(join(source, 'keys.json'), join(dir, 'keys.json'))
  return dir
}

const closed = (child: ReturnType<typeof built.start>) =>
  new Promise<number | null>((resolve) => child.once('close', resolve))

describe('kill -9', () => {
  test('of an export leaves no file under its name, and the next one writes it', async () => {
    const out = join(home, 'killed.ndjson')
    for (let round = 0; round < 3; round++) {
      const child = built.start(['server', 'export', '--data', source, '--out', out], home)
      const ended = closed(child)
      await vi.waitUntil(() => readdirSync(home).some((it) => it.startsWith('killed.ndjson.tmp-')), {
        timeout: 20_000,
        interval: 1,
      })
      child.kill('SIGKILL')
      await ended
      // It may have been faster.
      if (!existsSync(out)) expect(readdirSync(home).filter((it) => it.startsWith('killed.ndjson.tmp-')).length).toBe(1)
      else expect(rowLinesOf(readFileSync(out, 'utf8')).length).toBe(ROWS + 1)
      rmSync(out, { force: true })
    }
    const host = hostname()
    // Drafts of a running process and of another machine, and a name that no export uses.
    const others = [`${host}-${process.pid}-00000000`, `elsewhere-999999999-00000000`, `${host}-999999999-notes`]
    for (const it of others) writeFileSync(`${out}.tmp-${it}`, '')
    expect((await built.run(['server', 'export', '--data', source, '--out', out], home)).exit).toBe(0)
    expect(rowLinesOf(readFileSync(out, 'utf8'))).toEqual(rowLinesOf(readFileSync(file, 'utf8')))
    const left = readdirSync(home).filter((it) => it.startsWith('killed.ndjson.tmp-'))
    expect(left.sort()).toEqual(others.map((it) => `killed.ndjson.tmp-${it}`).sort())
  }, 60_000)

  test('of an import, when half of the file was written, leaves an empty store, which the same import fills', async () => {
    const target = newTarget()
    const text = readFileSync(file)
    const child = built.start(['server', 'import', '-', '--data', target], home)
    const ended = closed(child)
    child.stdin.write(text.subarray(0, text.length - 1_000))
    // So much of it that pages were written before the commit.
    const journal = join(target, 'voucherctl.db-wal')
    await vi.waitUntil(() => existsSync(journal) && statSync(journal).size > 1_000_000, { timeout: 20_000 })
    child.kill('SIGKILL')
    await ended
    const db = openSqliteFile(join(target, 'voucherctl.db'))
    expect(db.prepare('select count(*) as n from applications').get()).toEqual({ n: 0 })
    db.close()
    const again = await built.run(['server', 'import', file, '--data', target, '--json'], home)
    expect([again.exit, again.stderr]).toEqual([0, ''])
    expect(JSON.parse(again.stdout).rows.applications).toBe(ROWS)
  }, 60_000)
})

describe('Ctrl-C', () => {
  test('ends an import whose pipe stands still, with nothing imported', async () => {
    const target = newTarget()
    const child = built.start(['server', 'import', '-', '--data', target, '--json'], home)
    const ended = closed(child)
    let said = ''
    child.stderr.on('data', (chunk) => (said += chunk))
    child.stdin.write(readFileSync(file).subarray(0, 1_000_000))
    await vi.waitUntil(() => existsSync(join(target, 'voucherctl.db-wal')), { timeout: 20_000 })
    child.kill('SIGINT')
    expect(await ended).toBe(130)
    expect(JSON.parse(said).error.code).toBe('ABORTED')
    expect(readdirSync(target)).toEqual(['keys.json'])
  }, 60_000)
})

describe('a server that starts during an import', () => {
  test('is refused, as beside another server', async () => {
    const target = newTarget()
    const child = built.start(['server', 'import', '-', '--data', target], home)
    const ended = closed(child)
    child.stdin.write(readFileSync(file).subarray(0, 1_000_000))
    await vi.waitUntil(() => existsSync(join(target, 'voucherctl.db-wal')), { timeout: 20_000 })
    const started = await built.run(['server', 'start', '--port', '0', '--data', target, '--json'], home)
    expect([started.exit, JSON.parse(started.stderr).error.code]).toEqual([1, 'DATA_FOLDER_IN_USE'])
    child.kill('SIGKILL')
    await ended
  }, 60_000)
})

describe('standard output', () => {
  test.runIf(existsSync('/dev/full'))(
    'that is full is no success',
    async () => {
      const child = spawn(process.execPath, [built.bin, 'server', 'export', '--data', source], {
        cwd: home,
        env: built.environment(home),
        stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
      })
      let said = ''
      child.stderr?.on('data', (chunk) => (said += chunk))
      expect(await new Promise((resolve) => child.once('close', resolve))).toBe(1)
      expect(said).toMatch(/error: .*ENOSPC/)
    },
    30_000,
  )

  test('whose reader has seen enough is no success: a pipe that breaks off is no backup', async () => {
    const pipe = `${process.execPath} ${built.bin} server export --data ${source} | head -1 > first; echo \${PIPESTATUS[0]} > exit`
    const child = spawn('bash', ['-c', pipe], {
      cwd: home,
      env: built.environment(home),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    child.stderr.on('data', (chunk) => (said += chunk))
    await new Promise((resolve) => child.once('close', resolve))
    expect(readFileSync(join(home, 'exit'), 'utf8')).toBe('1\n')
    expect(said).toMatch(/^error: Standard output was closed before the export was whole \(EPIPE\)\.\n$/)
  }, 30_000)

  test('carries an export into an import, byte by byte', async () => {
    const target = newTarget()
    writeFileSync(
      join(home, 'move.sh'),
      `${process.execPath} ${built.bin} server export --data ${source} | ${process.execPath} ${built.bin} server import - --data ${target}`,
    )
    const child = spawn('bash', ['move.sh'], {
      cwd: home,
      env: built.environment(home),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    child.stdout.on('data', (chunk) => (said += chunk))
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0)
    expect(said).toMatch(/Imported 24,001 rows/)
  }, 30_000)
})
