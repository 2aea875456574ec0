import { conflictsOf, type Flag, type Flags, inWords } from '../flags/flags.js'
import { globalFlags } from '../flags/globals.js'
import type { Host } from '../host/host.js'
import type { Output } from '../output/output.js'
import { wrap, wrapWords } from '../output/text.js'
import { type Entry, type Group, isGroup, type Leaf, loadNode, type Node } from './leaf.js'
import type { Topic } from './topics.js'

const WIDTH = 80

/** Maximum number of commands in a suggestion. */
const SUGGESTED_MAX = 4

/** Finds the commands that have a name in any group, such as `verify`; empty if there are too many to suggest. */
export async function commandsNamed(entries: readonly Entry[], name: string): Promise<readonly string[]> {
  const leaves = await leavesOfEntries(entries)
  const found = leaves
    .map(([path]) => path)
    .filter((path) => path.length > 1 && path.at(-1) === name)
    .map((path) => path.join(' '))
  return found.length > SUGGESTED_MAX ? [] : found
}

/** Subject of a help page: a failure code, a topic, or a node of the command tree; the program if it has neither. */
interface Subject {
  readonly code?: string | undefined
  readonly topic?: Topic | undefined
  readonly node?: Node | undefined
  readonly path: readonly string[]
}

/** Shows the help of the program, a topic, a group or a command. */
export async function showHelp(
  subject: Subject,
  entries: readonly Entry[],
  topics: Readonly<Record<Topic, string>>,
  output: Output,
): Promise<void> {
  const { text, data } = await pageOf(subject, entries, topics, output.host)
  return output.options.format === 'table' ? output.say(text) : output.print(data)
}

async function pageOf(
  { code, topic, node, path }: Subject,
  entries: readonly Entry[],
  topics: Readonly<Record<Topic, string>>,
  host: Host,
): Promise<{ readonly text: string; readonly data: unknown }> {
  if (code !== undefined) {
    const { explanationOf } = await import('../failures/codes.js')
    const { explanationText } = await import('../output/failure-text.js')
    const found = explanationOf(code, host.env)
    if (found !== undefined) return { text: explanationText(found), data: found }
  }
  if (topic === 'flags') return { text: lines(...flagLines(globalFlags)), data: describeFlags(globalFlags) }
  if (topic !== undefined) return (await import('./topics.js')).topicTexts[topic](host)
  if (node === undefined) {
    const groups = entries.map(({ name, alias, summary }) => ({ name, alias: alias ?? null, summary }))
    return { text: helpOfProgram(entries, topics), data: { flags: describeFlags(globalFlags), groups } }
  }
  const described = (await leavesOf(node, path)).map(([names, leaf]) => describeLeaf(leaf, names))
  return { text: helpOfNode(node, path, described), data: described }
}

function helpOfProgram(entries: readonly Entry[], topics: Readonly<Record<string, string>>): string {
  const width = Math.max(...entries.map((it) => it.name.length))
  const flags = Object.entries<Flag<unknown>>(globalFlags)
  return lines(
    'Issue, verify, redeem and reverse vouchers, with a server to develop against.',
    'Usage: voucherctl <group> <command> [flags]; each explains itself with --help.',
    ...[...new Set(entries.map((it) => it.section))].flatMap((title) => {
      const shown = entries.filter((it) => it.section === title)
      return section(
        title,
        rows(
          shown.map((it) => [it.name, it.summary]),
          width,
        ),
      )
    }),
    ...section(
      'Flags of every command, explained by `voucherctl help flags`',
      indented(flags.map(([flag, { letter }]) => `--${flag}${letter === undefined ? '' : `/-${letter}`}`)),
    ),
    ...section('Topics, with `voucherctl help TOPIC`', indented(Object.keys(topics))),
  )
}

const indented = (words: readonly string[]) => wrap(words.join(' '), WIDTH - 2).map((it) => `  ${it}`)

function helpOfNode(node: Node, path: readonly string[], described: readonly LeafDescription[]): string {
  const [first, ...beneath] = described
  const own = isGroup(node) ? node.own : node
  if (own === undefined || first === undefined) return helpOfGroup(node as Group, path, described)
  const page = helpOfLeaf(own, first)
  if (beneath.length === 0) return page
  return lines(page, '', 'Beneath it:', ...rows(beneath.map((it) => [nameOf(it), it.summary])))
}

const helpOfGroup = (group: Group, path: readonly string[], described: readonly LeafDescription[]): string =>
  lines(
    `${group.summary}.`,
    '',
    `Usage: voucherctl ${path.join(' ')} <command> [flags]`,
    ...(group.alias === undefined ? [] : [`Alias: ${group.alias}`]),
    '',
    'Commands:',
    ...rows(described.map((it) => [synopsis(it, path.length), it.summary])),
    '',
    'Examples:',
    ...exampleLines(described.flatMap((it) => it.examples.slice(0, 1)).slice(0, GROUP_EXAMPLES)),
    '',
    `\`voucherctl ${path.join(' ')} <command> --help\` shows flags and examples.`,
  )

function helpOfLeaf({ flags = {}, table, notes = [] }: Leaf, described: LeafDescription): string {
  const { summary, examples, arguments: operands } = described
  const needed = Object.entries(flags).filter(([, flag]) => isRequired(flag))
  const usage = [
    'voucherctl',
    synopsis(described),
    ...needed.map(([flag, { value }]) => `--${flag} ${value}`),
    '[flags]',
  ]
  return lines(
    `${summary}.`,
    '',
    ...wrap(`Usage: ${usage.join(' ')}`, WIDTH, '  '),
    '',
    examples.length > 1 ? 'Examples:' : 'Example:',
    ...exampleLines(examples),
    ...section(operands.length > 1 ? 'Arguments' : 'Argument', rows(operands.map((it) => [it.name, it.summary]))),
    ...section('Flags', flagLines(flags)),
    ...(table === undefined ? [] : section(table.title, rows(table.rows))),
    ...notes.flatMap((note) => ['', ...wrap(note, WIDTH)]),
    '',
    '`voucherctl help flags` explains the flags of every command.',
  )
}

const section = (title: string, content: readonly string[]) =>
  content.length === 0 ? [] : ['', `${title}:`, ...content]

/** Number of examples on the help page of a group. */
const GROUP_EXAMPLES = 2

const exampleLines = (examples: LeafDescription['examples']) =>
  examples.flatMap(({ command, comment }) => [
    ...(comment === null ? [] : [`  # ${comment}`]),
    ...brokenCommand(command),
  ])

/** Breaks a long example before flags, as a shell continues it. */
function brokenCommand(command: string): string[] {
  const [first = '', ...words] = command.split(/ (?=-)(?=(?:[^"']|"[^"]*"|'[^']*')*$)/)
  if (command.length + MARGIN.length <= WIDTH) return [MARGIN + command]
  const broken = wrapWords([MARGIN + first, ...words], WIDTH - CONTINUED.length, INDENT)
  return broken.map((line, at) => (at < broken.length - 1 ? line + CONTINUED : line))
}

const MARGIN = '  $ '
const CONTINUED = ' \\'
const INDENT = ' '.repeat(6)

/** Describes a command in `commands --json` and `help COMMAND --json`. Never rename a member: scripts read them. */
export type LeafDescription = ReturnType<typeof describeLeaf>

export function describeLeaf(leaf: Leaf, path: readonly string[]) {
  return {
    command: `voucherctl ${path.join(' ')}`,
    summary: leaf.summary,
    notes: [...(leaf.notes ?? []), ...(leaf.table?.rows ?? []).map(([name, text]) => `${name}: ${text}`)],
    arguments: [leaf.positional, leaf.second]
      .filter((it) => it !== undefined)
      .map(({ name, summary, ask, several, choices }) => ({
        name,
        summary,
        required: ask !== undefined,
        repeatable: several ?? false,
        choices: choices ?? null,
      })),
    flags: describeFlags(leaf.flags ?? {}),
    examples: leaf.examples.map(({ command, comment }) => ({ command, comment: comment ?? null })),
    changes: leaf.changes ?? false,
    idempotent: leaf.idempotent ?? false,
  }
}

/**
 * Describes flags for scripts: `value` is null for a switch, `unless` names a flag that can replace this one, and the
 * flag requires one of `needs`.
 */
export function describeFlags(flags: Flags) {
  return Object.entries(flags).map(([name, flag]) => {
    const other = flag.unless ?? flag.needed?.unless
    return {
      flag: dashed(name),
      letter: flag.letter === undefined ? null : `-${flag.letter}`,
      value: flag.value ?? null,
      summary: flag.summary,
      choices: flag.choices ?? null,
      repeatable: flag.repeatable ?? false,
      required: isRequired(flag) || flag.needed !== undefined,
      unless: other === undefined ? null : dashed(other),
      conflicts: conflictsOf(flags, name).map(dashed),
      needs: (flag.needs ?? []).map(dashed),
    }
  })
}

const dashed = (name: string) => `--${name}`

/** Formats commands with arguments and summaries for a person. */
export const listed = (commands: readonly LeafDescription[]): string =>
  lines(
    ...rows(commands.map((it) => [synopsis(it), it.summary])),
    '',
    '`voucherctl COMMAND --help` shows flags and examples; --json lists them here.',
  )

const nameOf = ({ command }: LeafDescription) => command.replace(/^voucherctl /, '')

/** Formats the name of a command with its arguments. @param skipped number of names at its start to leave out */
function synopsis(described: LeafDescription, skipped = 0): string {
  const operands = described.arguments.map(({ name, required, repeatable }) => {
    const all = repeatable ? `${name}...` : name
    return required ? all : `[${all}]`
  })
  return [...nameOf(described).split(' ').slice(skipped), ...operands].join(' ')
}

/** Lists the commands below a node of the tree, with their names relative to it. */
async function leavesOf(node: Node, names: readonly string[] = []): Promise<NamedLeaf[]> {
  if (!isGroup(node)) return [[names, node]]
  const own: NamedLeaf[] = node.own === undefined ? [] : [[names, node.own]]
  const beneath = node.commands.map(async (child) => leavesOf(await loadNode(child), [...names, child.name]))
  return [...own, ...(await Promise.all(beneath)).flat()]
}

/** Lists all commands with their whole names. */
export async function leavesOfEntries(entries: readonly Entry[]): Promise<NamedLeaf[]> {
  return (await Promise.all(entries.map(async (it) => leavesOf(await it.load(), [it.name])))).flat()
}

type NamedLeaf = readonly [names: readonly string[], leaf: Leaf]

/** True if the command refuses to run without the flag. */
const isRequired = ({ ask, ownerOf }: Flag<unknown>) => ask !== undefined && ownerOf === undefined

function flagLines(flags: Flags): string[] {
  return rows(
    Object.entries(flags).map(([name, flag]) => {
      const { letter, value, bare, summary } = flag
      const shown = value === undefined ? '' : bare === undefined ? ` ${value}` : ` [${value}]`
      const marks = marksOf(flag)
      return [
        `${letter === undefined ? '    ' : `-${letter}, `}--${name}${shown}`,
        `${summary}${marks.length > 0 ? ` (${marks.join(', ')})` : ''}`,
      ]
    }),
  )
}

function marksOf(flag: Flag<unknown>): string[] {
  const { repeatable, unless, needed, needs, conflicts } = flag
  return [
    !isRequired(flag) ? (needed?.mark ?? '') : unless === undefined ? 'required' : `required unless --${unless}`,
    repeatable ? 'repeatable' : '',
    needs === undefined ? '' : `needs ${inWords(needs)}`,
    // The mark of a flag that another one can replace tells it too.
    conflicts === undefined || unless !== undefined ? '' : `not with ${inWords(conflicts)}`,
  ].filter((mark) => mark !== '')
}

const WIDEST_HEAD = 30

/** Formats two columns; a left cell that is too wide gets a line of its own. */
function rows(entries: readonly (readonly [string, string])[], least = 0): string[] {
  const width = Math.max(...entries.map(([head]) => head.length).filter((it) => it <= WIDEST_HEAD), least)
  return entries.flatMap(([head, text]) => {
    const indent = ' '.repeat(width + 4)
    const wrapped = wrap(text, WIDTH - indent.length)
    if (head.length > width) return [`  ${head}`, ...wrapped.map((it) => indent + it)]
    return wrapped.map((it, i) => (i === 0 ? `  ${head.padEnd(width)}  ${it}` : indent + it))
  })
}

const lines = (...all: readonly string[]) => all.join('\n')
