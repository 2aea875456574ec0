import type { Flag, Flags } from '../flags/flags.js'
import { globalFlags } from '../flags/globals.js'
import type { Output } from '../output/output.js'
import { wrap, wrapWords } from '../output/wrap.js'
import type { Topic } from '../topics.js'
import {
  type Entry,
  type Example,
  type Group,
  isGroup,
  type Leaf,
  loadNode,
  type Node,
  type Positional,
} from './leaf.js'

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
  { code, topic, node, path }: Subject,
  entries: readonly Entry[],
  topics: Readonly<Record<Topic, string>>,
  output: Output,
): Promise<void> {
  const isForPeople = output.options.format === 'table'
  if (code !== undefined) {
    const { explanationOf, explanationText } = await import('../explanations.js')
    const found = explanationOf(code, output.host.env)
    if (found !== undefined) return isForPeople ? output.say(explanationText(found)) : output.print(found)
  }
  if (topic === 'flags') {
    return isForPeople ? output.say(flagLines(globalFlags).join('\n')) : output.print(describeFlags(globalFlags))
  }
  if (topic !== undefined) {
    const { text, data } = (await import('../topics.js')).topicTexts[topic](output.host)
    return isForPeople ? output.say(text) : output.print(data)
  }
  if (isForPeople) return output.say(node === undefined ? helpOfProgram(entries, topics) : await helpOfNode(node, path))
  if (node !== undefined) {
    return output.print((await leavesOf(node)).map(([names, leaf]) => describeLeaf(leaf, [...path, ...names])))
  }
  return output.print({
    flags: describeFlags(globalFlags),
    groups: entries.map(({ name, alias, summary }) => ({ name, alias: alias ?? null, summary })),
  })
}

function helpOfProgram(entries: readonly Entry[], topics: Readonly<Record<string, string>>): string {
  const sections = [...new Set(entries.map((it) => it.section))]
  const width = Math.max(...entries.map((it) => it.name.length))
  return lines(
    'Issue, verify, redeem and reverse vouchers, with a server to develop against.',
    'Usage: voucherctl <group> <command> [flags]; each explains itself with --help.',
    ...sections.flatMap((section) => [
      '',
      `${section}:`,
      ...rows(
        entries.filter((it) => it.section === section).map((it) => [it.name, it.summary]),
        width,
      ),
    ]),
    '',
    'Flags of every command, explained by `voucherctl help flags`:',
    ...globalFlagNames(),
    '',
    'Topics, with `voucherctl help TOPIC`:',
    ...wrap(Object.keys(topics).join(' '), WIDTH - 2).map((it) => `  ${it}`),
  )
}

async function helpOfNode(node: Node, path: readonly string[]): Promise<string> {
  if (!isGroup(node)) return helpOfLeaf(node, path)
  if (node.own === undefined) return helpOfGroup(node, path)
  const beneath = (await leavesOf(node)).filter(([names]) => names.length > 0)
  const rest = beneath.map(([names, leaf]) => [[...path, ...names].join(' '), leaf.summary] as const)
  return lines(helpOfLeaf(node.own, path), '', 'Beneath it:', ...rows(rest))
}

async function helpOfGroup(group: Group, path: readonly string[]): Promise<string> {
  const leaves = await leavesOf(group)
  return lines(
    `${group.summary}.`,
    '',
    `Usage: voucherctl ${path.join(' ')} <command> [flags]`,
    ...(group.alias === undefined ? [] : [`Alias: ${group.alias}`]),
    '',
    'Commands:',
    ...rows(
      leaves.map(([names, leaf]) => [[...names, operandOf(leaf)].filter((it) => it !== '').join(' '), leaf.summary]),
    ),
    '',
    'Examples:',
    ...exampleLines(leaves.flatMap(([, leaf]) => leaf.examples.slice(0, 1)).slice(0, GROUP_EXAMPLES)),
    '',
    `\`voucherctl ${path.join(' ')} <command> --help\` shows flags and examples.`,
  )
}

function helpOfLeaf(leaf: Leaf, path: readonly string[]): string {
  const name = `voucherctl ${path.join(' ')}`
  const needed = Object.entries(leaf.flags ?? {}).filter(([, flag]) => isRequired(flag))
  const usage = [name, operandOf(leaf), ...needed.map(([flag, { value }]) => `--${flag} ${value}`), '[flags]']
  const flags = leaf.flags ?? {}
  const operands = operandsOf(leaf)
  return lines(
    `${leaf.summary}.`,
    '',
    ...wrap(`Usage: ${usage.filter((it) => it !== '').join(' ')}`, WIDTH, '  '),
    '',
    leaf.examples.length > 1 ? 'Examples:' : 'Example:',
    ...exampleLines(leaf.examples),
    ...(operands.length === 0
      ? []
      : ['', operands.length > 1 ? 'Arguments:' : 'Argument:', ...rows(operands.map((it) => [it.name, it.summary]))]),
    ...(Object.keys(flags).length === 0 ? [] : ['', 'Flags:', ...flagLines(flags)]),
    ...(leaf.table === undefined ? [] : ['', `${leaf.table.title}:`, ...rows(leaf.table.rows)]),
    ...(leaf.notes ?? []).flatMap((note) => ['', ...wrap(note, WIDTH)]),
    '',
    '`voucherctl help flags` explains the flags of every command.',
  )
}

/** Number of examples on the help page of a group. */
const GROUP_EXAMPLES = 2

const exampleLines = (examples: readonly Example[]) =>
  examples.flatMap(({ command, comment }) => [
    ...(comment === undefined ? [] : [`  # ${comment}`]),
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

const globalFlagNames = () =>
  wrap(
    Object.entries<Flag<unknown>>(globalFlags)
      .map(([flag, { letter }]) => `--${flag}${letter === undefined ? '' : `/-${letter}`}`)
      .join(' '),
    WIDTH - 2,
  ).map((it) => `  ${it}`)

/** Describes a command in `commands --json` and `help COMMAND --json`. Never rename a member: scripts read them. */
export type LeafDescription = ReturnType<typeof describeLeaf>

export function describeLeaf(leaf: Leaf, path: readonly string[]) {
  return {
    command: `voucherctl ${path.join(' ')}`,
    summary: leaf.summary,
    notes: [...(leaf.notes ?? []), ...(leaf.table?.rows ?? []).map(([name, text]) => `${name}: ${text}`)],
    arguments: operandsOf(leaf).map(({ name, summary, ask, several, choices }) => ({
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

/** Describes flags for scripts: `value` is null for a switch, `unless` names a flag that can replace this one. */
export function describeFlags(flags: Flags) {
  return Object.entries(flags).map(([name, flag]) => ({
    flag: `--${name}`,
    letter: flag.letter === undefined ? null : `-${flag.letter}`,
    value: flag.value ?? null,
    summary: flag.summary,
    choices: flag.choices ?? null,
    repeatable: flag.repeatable ?? false,
    required: isRequired(flag) || flag.needed !== undefined,
    unless: unlessOf(flag),
  }))
}

function unlessOf({ unless, needed }: Flag<unknown>): string | null {
  const other = unless ?? needed?.unless
  return other === undefined ? null : `--${other}`
}

/** Formats commands with arguments and summaries for a person. */
export function listed(commands: readonly LeafDescription[]): string {
  return lines(
    ...rows(
      commands.map((it) => {
        const operands = it.arguments.map(({ name, required, repeatable }) => shownAs(name, required, repeatable))
        return [[it.command.replace(/^voucherctl /, ''), ...operands].join(' '), it.summary]
      }),
    ),
    '',
    '`voucherctl COMMAND --help` shows flags and examples; --json lists them here.',
  )
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

const operandsOf = ({ positional, second }: Leaf) =>
  [positional, second].filter((it) => it !== undefined) as readonly Positional[]

const operandOf = (leaf: Leaf) =>
  operandsOf(leaf)
    .map(({ name, ask, several }) => shownAs(name, ask !== undefined, several === true))
    .join(' ')

function shownAs(name: string, required: boolean, repeatable: boolean): string {
  const all = repeatable ? `${name}...` : name
  return required ? all : `[${all}]`
}

/** True if the command refuses to run without the flag. */
const isRequired = ({ ask, ownerOf }: Flag<unknown>) => ask !== undefined && ownerOf === undefined

function flagLines(flags: Flags): string[] {
  return rows(
    Object.entries(flags).map(([name, flag]) => {
      const { letter, value, bare, summary, repeatable, unless, needed } = flag
      const marks = [
        !isRequired(flag) ? (needed?.mark ?? '') : unless === undefined ? 'required' : `required unless --${unless}`,
        repeatable ? 'repeatable' : '',
      ].filter((it) => it !== '')
      const head = `${letter === undefined ? '    ' : `-${letter}, `}--${name}${value === undefined ? '' : bare === undefined ? ` ${value}` : ` [${value}]`}`
      return [head, `${summary}${marks.length > 0 ? ` (${marks.join(', ')})` : ''}`]
    }),
  )
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
