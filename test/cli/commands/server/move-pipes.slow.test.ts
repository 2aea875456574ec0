import { spawn } from 'node:child_process'
import { existsSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { built } from '../../../support/cli/built-cli.js'
import { temporaryFolder } from '../../../support/server/server.js'
import { rowLinesOf } from '../../../support/store/move.js'
import { fillMoveFolders } from '../../../support/store/move-source.js'
import { expectNothingOfKilledImport } from './killed-import.js'

const home = temporaryFolder()
/** An export of 3.5 MB, which is more than the pipe between two processes buffers. */
const ROWS = 1_000
let source: string
let file: string
let newTarget: () => string

beforeAll(async () => {
  ;({ source, file, newTarget } = await fillMoveFolders(home, ROWS))
})
afterAll(() => {
  rmSync(home, { recursive: true, force: true })
})

const closed = (child: ReturnType<typeof built.start>) =>
  new Promise<number | null>((resolve) => child.once('close', resolve))

describe('SIGKILL', () => {
  test('a killed server export leaves no output file, and the next export removes its draft', async () => {
    const out = join(home, 'killed.ndjson')
    const child = built.start(['server', 'export', '--data', source, '--out', out], home)
    const ended = closed(child)
    const begun = () => readdirSync(home).some((it) => it.startsWith('killed.ndjson'))
    await vi.waitUntil(begun, { timeout: 120_000, interval: 1 })
    child.kill('SIGKILL')
    await ended
    // The export sometimes finishes before SIGKILL arrives.
    if (!existsSync(out)) expect(readdirSync(home).filter((it) => it.startsWith('killed.ndjson.tmp-')).length).toBe(1)
    else expect(rowLinesOf(readFileSync(out, 'utf8')).length).toBe(ROWS + 1)
    rmSync(out, { force: true })
    const host = hostname()
    // An export must not remove drafts of running processes, drafts of other hosts or files with other names.
    const others = [`${host}-${process.pid}-00000000`, `elsewhere-999999999-00000000`, `${host}-999999999-notes`]
    for (const it of others) writeFileSync(`${out}.tmp-${it}`, '')
    // The killed process has no draft if it finished, so the test writes one.
    writeFileSync(`${out}.tmp-${host}-${child.pid}-00000000`, '')
    const next = join(home, 'next.ndjson')
    expect((await built.run(['server', 'export', '--data', source, '--out', next], home)).exit).toBe(0)
    expect(rowLinesOf(readFileSync(next, 'utf8'))).toEqual(rowLinesOf(readFileSync(file, 'utf8')))
    const left = readdirSync(home).filter((it) => it.startsWith('killed.ndjson.tmp-'))
    expect(left.sort()).toEqual(others.map((it) => `killed.ndjson.tmp-${it}`).sort())
  })

  test('a killed server import leaves an empty database, and a second import succeeds', async () => {
    await expectNothingOfKilledImport({ home, file, rows: ROWS, target: newTarget(), isDue: existsSync })
  })
})

describe('SIGINT', () => {
  test('SIGINT ends a server import that waits for its pipe, and no row is imported', async () => {
    const target = newTarget()
    const child = built.start(['server', 'import', '-', '--data', target, '--json'], home)
    const ended = closed(child)
    let said = ''
    child.stderr.on('data', (chunk) => (said += chunk))
    child.stdin.write(readFileSync(file).subarray(0, 500_000))
    await vi.waitUntil(() => existsSync(join(target, 'voucherctl.db-wal')), { timeout: 120_000 })
    child.kill('SIGINT')
    expect(await ended).toBe(130)
    expect(JSON.parse(said).error.code).toBe('ABORTED')
    expect(readdirSync(target)).toEqual(['keys.json'])
  })
})

describe('server start during an import', () => {
  test('server start fails with DATA_FOLDER_IN_USE during a server import', async () => {
    const target = newTarget()
    const child = built.start(['server', 'import', '-', '--data', target], home)
    const ended = closed(child)
    child.stdin.write(readFileSync(file).subarray(0, 500_000))
    await vi.waitUntil(() => existsSync(join(target, 'voucherctl.db-wal')), { timeout: 120_000 })
    const started = await built.run(['server', 'start', '--port', '0', '--data', target, '--json'], home)
    expect([started.exit, JSON.parse(started.stderr).error.code]).toEqual([1, 'DATA_FOLDER_IN_USE'])
    child.kill('SIGKILL')
    await ended
  })
})

describe('server export to stdout', () => {
  test.runIf(existsSync('/dev/full'))('server export exits 1 with ENOSPC if its stdout is a full device', async () => {
    const child = spawn(process.execPath, [built.bin, 'server', 'export', '--data', source], {
      cwd: home,
      env: built.environment(home),
      stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    })
    let said = ''
    child.stderr?.on('data', (chunk) => (said += chunk))
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(1)
    expect(said).toMatch(/error: .*ENOSPC/)
  })

  test('server export exits 1 if the reader of its pipe closes early', async () => {
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
    expect(said).toMatch(
      /^error: Standard output was closed before the export was complete \(EPIPE\)\. \(FILE_UNWRITABLE\)\n$/,
    )
  })

  test('server export piped into server import moves all rows', async () => {
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
    expect(said).toMatch(/Imported 1,001 rows/)
  })
})
