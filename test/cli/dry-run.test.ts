import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { leavesOfEntries } from '../../src/cli/command/tree.js'
import { entries } from '../../src/cli/program.js'
import { cli, secrets, stub, success } from '../support/cli/cli.js'
import { homeOf, matrix, rowEnvironment } from '../support/cli/matrix.js'

/** Commands whose dry run needs more set-up; other test files test them. */
const testedInOtherFiles = ['webhook replay', 'server migrate', 'server import']

const changing = (await leavesOfEntries(entries))
  .flatMap(([names, leaf]) => (leaf.changes ? [names.join(' ')] : []))
  .filter((path) => !testedInOtherFiles.includes(path))

/** Path and content digest of every file below a folder. */
function snapshot(dir: string): Record<string, string> {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort()
  const digest = (path: string) =>
    lstatSync(path).isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'folder'
  return Object.fromEntries(paths.map((it) => [it, digest(join(dir, it))]))
}

/** Makes a local server seem to run, which a dry run must not call. */
function plantServer(home: string): void {
  const data_dir = join(home, '.local/share/voucherctl')
  mkdirSync(data_dir, { recursive: true })
  const server = { pid: process.pid, base_url: 'http://127.0.0.1:9', data_dir, operator_key_file: null }
  writeFileSync(join(data_dir, 'server.json'), JSON.stringify(server))
}

test.each([...changing, 'webhook listen'])(
  'the command %s --dry-run prints the planned requests, sends nothing and changes no file',
  async (path) => {
    const { baseUrl, received } = await stub(() => success({}))
    const row = matrix[path] ?? expect.unreachable()
    const home = homeOf(row)
    plantServer(home)
    const before = snapshot(home)
    const all = path === 'server stop' ? '--data {home}/.local/share/voucherctl' : row.args
    const args = all.replaceAll('{url}', baseUrl).replaceAll('{home}', home)
    const line = `${path} ${args} --dry-run --no-input --base-url ${baseUrl}`
    const given = { home, env: rowEnvironment, stdin: `${secrets.VOUCHERCTL_TOKEN}\n` }
    const { exit, stdout, stderr } = await cli(`${line} --json`, given)
    expect([exit, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({ dry_run: true, requests: expect.any(Array), actions: expect.any(Array) })
    const shown = await cli(line, given)
    expect([shown.exit, shown.stderr]).toEqual([0, ''])
    expect(shown.stdout).toMatch(/^Dry run: nothing was sent and nothing was changed\./)
    expect(snapshot(home)).toEqual(before)
    expect(received).toEqual([])
  },
)
