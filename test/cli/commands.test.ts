import { expect, test } from 'vitest'
import { leavesOfEntries } from '../../src/cli/command/tree.js'
import { globalFlags } from '../../src/cli/flags/globals.js'
import { entries, topics } from '../../src/cli/program.js'
import { cli } from '../support/cli/cli.js'

const listing = async () => JSON.parse((await cli('commands --json')).stdout)
const leaves = (await leavesOfEntries(entries)).map(([names, leaf]) => ({ path: names.join(' '), leaf }))

test('commands --json lists every command with every flag, argument and example', { tags: 'commands/1' }, async () => {
  const { items, global_flags } = await listing()
  expect(items).toHaveLength(leaves.length)
  leaves.forEach(({ path, leaf }, i) => {
    expect(items[i]).toMatchObject({
      command: `voucherctl ${path}`,
      summary: leaf.summary,
      changes: leaf.changes === true,
      idempotent: leaf.idempotent === true,
      arguments: [leaf.positional, leaf.second]
        .filter((it) => it !== undefined)
        .map(({ name, summary, ask }) => ({ name, summary, required: ask !== undefined })),
      flags: Object.entries(leaf.flags ?? {}).map(([name, it]) => ({
        flag: `--${name}`,
        value: it.value ?? null,
        summary: it.summary,
        choices: it.choices ?? null,
        repeatable: it.repeatable === true,
        required: (it.ask !== undefined && it.ownerOf === undefined) || it.needed !== undefined,
        unless: (it.unless ?? it.needed) === undefined ? null : `--${it.unless ?? it.needed?.unless}`,
      })),
      examples: leaf.examples.map(({ command, comment }) => ({ command, comment: comment ?? null })),
    })
  })
  expect(global_flags.map((it: { flag: string }) => it.flag)).toEqual(Object.keys(globalFlags).map((it) => `--${it}`))
  expect(global_flags).toContainEqual(expect.objectContaining({ flag: '--output', letter: '-o' }))
})

test('commands --json gives every command and every flag the same members', { tags: 'commands/1' }, async () => {
  const { items } = await listing()
  const members = ['arguments', 'changes', 'command', 'examples', 'flags', 'idempotent', 'notes', 'summary']
  const flag = [
    'choices',
    'conflicts',
    'flag',
    'letter',
    'needs',
    'repeatable',
    'required',
    'summary',
    'unless',
    'value',
  ]
  for (const item of items) {
    expect(Object.keys(item).sort()).toEqual(members)
    for (const it of item.flags) expect(Object.keys(it).sort()).toEqual(flag)
  }
})

test('--help --json of a command prints the document that commands --json lists for it', async () => {
  const { items } = await listing()
  for (const { command } of items.slice(0, 3).concat(items.at(-1))) {
    const [one] = JSON.parse((await cli(`${command.replace('voucherctl ', '')} --help --json`)).stdout)
    expect(one).toEqual(items.find((it: { command: string }) => it.command === command))
  }
})

test('voucherctl commands prints a table within 80 columns, or one line per command as jsonl', async () => {
  const { stdout, stderr, exit } = await cli('commands')
  expect([exit, stderr]).toEqual([0, ''])
  for (const { path } of leaves) expect(stdout).toContain(`  ${path}`)
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  expect((await cli('commands -o jsonl')).stdout.trimEnd().split('\n')).toHaveLength(leaves.length)
})

test('help NAME prints the same as NAME --help, but for a topic of that name', async () => {
  const groups = leaves.map(({ path }) => path.split(' ').slice(0, -1).join(' ')).filter((it) => it !== '')
  for (const names of new Set([...groups, ...leaves.map(({ path }) => path)]))
    if (!(names in topics))
      expect((await cli(`help ${names}`)).stdout, names).toBe((await cli(`${names} --help`)).stdout)
  expect((await cli('help voucher issue')).stdout).toBe((await cli('vouchers issue --help')).stdout)
})

test('every help page fits 80 columns, except for commands, code blocks and tables', async () => {
  const names = [...entries.map((it) => it.name), ...leaves.map(({ path }) => path)]
  const pages = ['--help', ...Object.keys(topics).map((it) => `help ${it}`), ...names.map((it) => `${it} --help`)]
  for (const page of pages) {
    const text = (await cli(page)).stdout.replaceAll(/^```.*?^```$/gms, '')
    const lines = text.split('\n').filter((line) => !/^(?: {2}[$#]|\|)/.test(line))
    expect(
      lines.filter((line) => line.length > 80),
      page,
    ).toEqual([])
  }
})

test.each([
  ['help exit-code', /exit-codes/],
  ['help enviroment', /environment/],
  ['help outptu', /output/],
  ['help confg', /config/],
])('the mistyped command %s exits 2 and suggests the correct help topic', async (args, hint) => {
  const { exit, stdout, stderr } = await cli(args)
  expect([exit, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(/Did you mean/)
  expect(stderr).toMatch(hint)
})

test('main help fits a terminal of 24 rows, help of a command 48 rows of 80 columns', async () => {
  const rowsOf = async (line: string) => {
    const lines = (await cli(line)).stdout.trimEnd().split('\n')
    return lines.reduce((rows, it) => rows + Math.max(1, Math.ceil(it.length / 80)), 0)
  }
  // The prompt takes the last row.
  expect(await rowsOf('--help')).toBeLessThanOrEqual(23)
  expect((await cli('--help')).stdout).toMatch(/\nStart here:\n {2}quickstart .*\n {2}doctor .*\n$/)
  const rows = await Promise.all(leaves.map(async ({ path }) => [path, await rowsOf(`${path} --help`)] as const))
  expect(rows.filter(([, it]) => it > 48)).toEqual([])
})

test('help breaks a long example before a flag, as a shell continues it', async () => {
  const { stdout } = await cli('templates create --help')
  expect(stdout).toMatch(/^ {2}\$ voucherctl templates create --external-id coffee-1 .*\\\n {6}--\S/m)
})

test('templates create marks its nine required flags in help and in commands --json', async () => {
  const { stdout } = await cli('templates create --help')
  expect(stdout.match(/\(required/g)).toHaveLength(9)
  const { items } = await listing()
  const create = items.find((it: { command: string }) => it.command === 'voucherctl templates create')
  const needed = create.flags.filter((it: { required: boolean }) => it.required)
  expect(needed.map((it: { unless: string }) => it.unless)).toEqual(Array(9).fill('--file'))
})

test.each(entries.map((it) => it.name))('the help of %s has an example', async (name) => {
  expect((await cli(`${name} --help`)).stdout).toMatch(/^Examples?:\n(?: {2}# .*\n)? {2}\$ .*voucherctl /m)
})
