import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { leavesOf } from '../../src/cli/command/help.js'
import { page } from '../../src/cli/program.js'
import type { Ran } from '../support/cli.js'
import { cli, refusal, secrets, stub, success, temporaryDir } from '../support/cli.js'
import type { Column, MatrixRow } from '../support/cli-matrix.js'
import { columns, howToAdd, matrix } from '../support/cli-matrix.js'
import { closedPort } from '../support/closed-port.js'

const paths: string[] = []
for (const entry of page) {
  const node = await entry.load()
  for (const [names] of leavesOf(node)) paths.push([node.name, ...names].join(' '))
}

/** One command of each kind; commands of a kind share the code that prints their results. */
const shapes = [
  'apps get', // one record
  'apps list', // a page of records
  'vouchers issue', // a call that changes something
  'profiles show', // no call
  'webhook bridge', // a stream until Ctrl-C
  'scenario run', // a verdict
]

const env = { ...secrets, VOUCHERCTL_WEBHOOK_SECRET: 'whsec_0123456789abcdef0123456789abcdef', NO_COLOR: '1' }

const tableOfExits: Record<Column, number> = { ok: 0, '4xx': 5, '5xx': 9, refused: 9, 'broken pipe': 0, bare: 0 }

function exitOf({ local, exits = {} }: MatrixRow, column: Column): number {
  return exits[column] ?? (local || column === 'bare' ? exits.ok : undefined) ?? (local ? 0 : tableOfExits[column])
}

async function addressOf(column: Column, data: unknown, onRequest: (index: number) => void): Promise<string> {
  if (column === 'refused') return `http://127.0.0.1:${await closedPort()}`
  const answers = { '4xx': refusal(404, 'TEMPLATE_NOT_FOUND'), '5xx': refusal(503, 'UNAVAILABLE') }
  const answer = column === '4xx' || column === '5xx' ? answers[column] : success(data)
  const server = await stub((_request, index) => {
    onRequest(index)
    return answer
  })
  return server.baseUrl
}

async function cell(path: string, row: MatrixRow, column: Column, format: string): Promise<Ran> {
  const stop = new AbortController()
  // Interrupt an endless command at its first output, its ready file or its second request.
  const baseUrl = await addressOf(column, row.data, (index) => row.endless && index > 0 && stop.abort())
  const home = temporaryDir()
  for (const [name, content] of Object.entries(row.files ?? {})) {
    mkdirSync(dirname(join(home, name)), { recursive: true, mode: 0o700 })
    writeFileSync(join(home, name), content, { mode: 0o600 })
  }
  // A bare endless command would use its default port, which may be taken.
  const bare = column === 'bare' && (!row.endless || row.exits?.bare !== undefined)
  const args = bare ? '' : row.args.replaceAll('{url}', baseUrl).replaceAll('{home}', home)
  const interrupt = () => row.endless && stop.abort()
  if (args.includes('--ready-file')) {
    void vi
      .waitUntil(() => existsSync(join(home, 'ready.json')), { timeout: 20_000, interval: 5 })
      .then(interrupt, interrupt)
  }
  return cli(`${path} ${args} ${format} --retries 0 --base-url ${baseUrl}`, {
    home,
    env,
    // A closed stdin reads as empty.
    ...(row.stdin === undefined || bare ? {} : { stdin: row.stdin }),
    ...(row.endless ? { signal: stop.signal, onStdout: interrupt, onStderr: interrupt } : {}),
    ...(column === 'broken pipe' ? { linesTaken: 0 } : {}),
  })
}

const isJson = (text: string) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const rowOf = (path: string): MatrixRow => matrix[path] ?? expect.unreachable(`${path} has no row. ${howToAdd}`)

async function expectDocument(path: string, column: Column): Promise<void> {
  const row = rowOf(path)
  const ran = await cell(path, row, column, '--json')
  const said = `${column}: ${JSON.stringify(ran)}`
  expect(ran.exit, said).toBe(exitOf(row, column))
  const documents = row.stream ? ran.stdout.split('\n').filter((it) => it !== '') : [ran.stdout]
  if (ran.stdout !== '') expect(documents.every(isJson), said).toBe(true)
  if (ran.exit !== 0 && !row.verdict) {
    if (!row.stream) expect(ran.stdout, said).toBe('')
    expect(Object.keys(JSON.parse(ran.stderr)), said).toEqual(['error'])
    expect(ran.stderr.trimEnd(), said).not.toContain('\n')
  }
}

test.each(paths)('%s --json prints one document or nothing and exits as the matrix says', async (path) => {
  const row = rowOf(path)
  await expectDocument(path, 'ok')
  if (row.exits?.bare !== undefined) await expectDocument(path, 'bare')
  if (!row.local) await expectDocument(path, '4xx')
})

test.each(shapes)('%s --json prints one document or nothing in every column of the matrix', async (path) => {
  for (const column of columns) await expectDocument(path, column)
})

test.each(shapes)('%s in table format exits as with --json and prints failures on stderr only', async (path) => {
  const row = rowOf(path)
  for (const column of columns.filter((it) => it === '4xx' || it === 'refused' || it === 'bare')) {
    const ran = await cell(path, row, column, '')
    const said = `${column}: ${JSON.stringify(ran)}`
    expect(ran.exit, said).toBe(exitOf(row, column))
    if (ran.exit === 0 || row.verdict) continue
    if (!row.stream) expect(ran.stdout, said).toBe('')
    expect(ran.stderr, said).toMatch(/^error: /m)
  }
})

test.each(shapes)('%s prints valid yaml and jsonl, exits as in json, and --jq filters', async (path) => {
  const row = rowOf(path)
  const exit = exitOf(row, 'ok')
  const yaml = await cell(path, row, 'ok', '-o yaml')
  const csv = await cell(path, row, 'ok', '-o csv')
  const jsonl = await cell(path, row, 'ok', '-o jsonl')
  expect([yaml.exit, csv.exit, jsonl.exit]).toEqual([exit, exit, exit])
  if (!row.stream) expect(() => parseYaml(yaml.stdout)).not.toThrow()
  expect(jsonl.stdout.split('\n').filter((it) => it !== '' && !isJson(it))).toEqual([])
  // jq may take longer to start than the command runs.
  if (row.endless) return
  const filtered = await cell(path, row, 'ok', '--jq type')
  expect([filtered.exit, filtered.stdout]).toEqual([exit, expect.stringMatching(/^(?:(?:object|array|string)\n)*$/)])
})
