import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { leavesOfEntries } from '../../src/cli/command/tree.js'
import { entries } from '../../src/cli/program.js'
import { cli, type Ran, refusal, stub, success } from '../support/cli/cli.js'
import {
  type Column,
  columns,
  homeOf,
  howToAdd,
  type MatrixRow,
  matrix,
  rowEnvironment,
} from '../support/cli/matrix.js'
import { leafCalls } from '../support/cli/samples.js'
import { closedPort } from '../support/closed-port.js'

const paths = (await leavesOfEntries(entries)).map(([names]) => names.join(' '))

/** One command of each kind of result: commands of one kind share the code that prints it. */
const shapes = [
  'apps get', // one object
  'apps list', // a page of objects
  'vouchers issue', // result of a mutation
  'profiles show', // result without an API call
  'webhook listen', // lines until Ctrl-C
  'scenario run', // results of tests, printed also if they fail
]

const env = { ...rowEnvironment, NO_COLOR: '1' }

const tableOfExits: Record<Column, number> = { ok: 0, '4xx': 5, '5xx': 9, refused: 9, 'broken pipe': 0, bare: 0 }

function exitOf({ local, exits = {} }: MatrixRow, column: Column): number {
  return exits[column] ?? (local || column === 'bare' ? exits.ok : undefined) ?? (local ? 0 : tableOfExits[column])
}

async function addressOf(
  column: Column,
  { data, document }: MatrixRow,
  onRequest: (index: number) => void,
): Promise<string> {
  if (column === 'refused') return `http://127.0.0.1:${await closedPort()}`
  const refusals = { '4xx': refusal(404, 'TEMPLATE_NOT_FOUND'), '5xx': refusal(503, 'UNAVAILABLE') }
  const response =
    column === '4xx' || column === '5xx'
      ? refusals[column]
      : document === undefined
        ? success(data)
        : { body: document }
  const server = await stub((_request, index) => {
    onRequest(index)
    return response
  })
  return server.baseUrl
}

async function cell(path: string, row: MatrixRow, column: Column, format: string): Promise<Ran> {
  const stop = new AbortController()
  // An endless command ends only by an interrupt: at its first output, ready file or second request.
  const baseUrl = await addressOf(column, row, (index) => row.endless && index > 0 && stop.abort())
  // A command without files shares the empty folder of cli(), because creating one takes longer than most commands.
  const home = row.files === undefined && !row.args.includes('{home}') ? undefined : homeOf(row)
  // Without arguments, an endless command would listen on its default port, which may be in use.
  const bare = column === 'bare' && (!row.endless || row.exits?.bare !== undefined)
  const args = bare ? '' : row.args.replaceAll('{url}', baseUrl).replaceAll('{home}', home ?? '')
  const interrupt = () => row.endless && stop.abort()
  let hasEnded = false
  const isReady = () => hasEnded || (home !== undefined && existsSync(join(home, 'ready.json')))
  const ready = args.includes('--ready-file')
    ? vi.waitUntil(isReady, { timeout: 120_000, interval: 5 }).then(interrupt, interrupt)
    : undefined
  const ran = await cli(`${path} ${args} ${format} --retries 0 --base-url ${baseUrl}`, {
    ...(home === undefined ? {} : { home }),
    env,
    // Without `stdin`, cli() gives the command an empty stdin.
    ...(row.stdin === undefined || bare ? {} : { stdin: row.stdin }),
    ...(row.endless ? { signal: stop.signal, onStdout: interrupt, onStderr: interrupt } : {}),
    ...(column === 'broken pipe' ? { linesTaken: 0 } : {}),
  })
  // A wait that outlives its test would advance the replaced timers of another one.
  hasEnded = true
  await ready
  return ran
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
  const call = leafCalls[path]
  if (column === 'ok' && call !== undefined) {
    expect([ran.stderr, JSON.parse(ran.stdout)], said).toEqual(['', call.data])
  }
  const documents = row.stream ? ran.stdout.split('\n').filter((it) => it !== '') : [ran.stdout]
  if (ran.stdout !== '') expect(documents.every(isJson), said).toBe(true)
  if (ran.exit !== 0 && !row.verdict) {
    if (!row.stream) expect(ran.stdout, said).toBe('')
    expect(Object.keys(JSON.parse(ran.stderr)), said).toEqual(['error'])
    expect(ran.stderr.trimEnd(), said).not.toContain('\n')
  }
}

test.each(paths)(
  'the command %s --json prints one JSON document or nothing and exits as the matrix says',
  async (path) => {
    const row = rowOf(path)
    await expectDocument(path, 'ok')
    if (row.exits?.bare !== undefined) await expectDocument(path, 'bare')
    if (!row.local) await expectDocument(path, '4xx')
  },
)

test.each(shapes)(
  'the command %s --json prints one JSON document or nothing for every outcome of the matrix',
  async (path) => {
    for (const column of columns) await expectDocument(path, column)
  },
)

test.each(shapes)(
  'the command %s without --json prints errors on stderr and exits with the same code',
  async (path) => {
    const row = rowOf(path)
    for (const column of columns.filter((it) => it === '4xx' || it === 'refused' || it === 'bare')) {
      const ran = await cell(path, row, column, '')
      const said = `${column}: ${JSON.stringify(ran)}`
      expect(ran.exit, said).toBe(exitOf(row, column))
      if (ran.exit === 0 || row.verdict) continue
      if (!row.stream) expect(ran.stdout, said).toBe('')
      expect(ran.stderr, said).toMatch(/^error: /m)
    }
  },
)

test.each(shapes)(
  'the command %s prints valid yaml, jsonl and --jq output with the exit code of --json',
  async (path) => {
    const row = rowOf(path)
    const exit = exitOf(row, 'ok')
    const yaml = await cell(path, row, 'ok', '-o yaml')
    const csv = await cell(path, row, 'ok', '-o csv')
    const jsonl = await cell(path, row, 'ok', '-o jsonl')
    expect([yaml.exit, csv.exit, jsonl.exit]).toEqual([exit, exit, exit])
    if (!row.stream) expect(() => parseYaml(yaml.stdout)).not.toThrow()
    expect(jsonl.stdout.split('\n').filter((it) => it !== '' && !isJson(it))).toEqual([])
    // The interrupt may end an endless command before jq has started.
    if (row.endless) return
    const filtered = await cell(path, row, 'ok', '--jq type')
    expect([filtered.exit, filtered.stdout]).toEqual([exit, expect.stringMatching(/^(?:(?:object|array|string)\n)*$/)])
  },
)
