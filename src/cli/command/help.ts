import { type Flag, type Flags, inWords } from '../flags/flags.js'
import { globalFlags } from '../flags/globals.js'
import { rows, wrap, wrapWords } from '../output/text.js'
import { type Entry, type Example, type Group, isGroup, type Leaf, type Node } from './leaf.js'
import { leavesOfEntries, type NamedLeaf, operandsOf, synopsis } from './tree.js'

const WIDTH = 80

/** @param isAgent true if the first page is to end with lines for agents */
export async function helpOf(
  node: Node | undefined,
  path: readonly string[],
  entries: readonly Entry[],
  topics: readonly string[],
  isAgent: boolean,
): Promise<string> {
  if (node !== undefined) return lines(await helpOfNode(node, path))
  return lines([...helpOfProgram(entries, topics), ...(isAgent ? section('For agents', rows(agentRows)) : [])])
}

const agentRows = [
  ['voucherctl help agents', 'A platform on your machine, from issue to webhook'],
  ['voucherctl … --json', 'One document: a result, or a failure on stderr'],
  ['voucherctl mcp tools', 'Tools of an MCP client; `mcp install` sets one up'],
] as const

/** Formats the first page. It fits a terminal of 24 lines with the prompt, above which the first steps stand. */
function helpOfProgram(entries: readonly Entry[], topics: readonly string[]): string[] {
  const [start = '', ...others] = new Set(entries.map((it) => it.section))
  const inSection = (title: string) => entries.filter((it) => it.section === title)
  return [
    'Issue, verify, redeem and reverse vouchers, with a server to develop against.',
    'Usage: voucherctl <group> <command> [flags]',
    ...section(
      'Commands, explained by --help; `voucherctl commands` lists all',
      rows(
        others.map((title) => [
          title,
          inSection(title)
            .map((it) => it.name)
            .join(' '),
        ]),
      ),
    ),
    ...section(
      'Flags of every command, explained by `voucherctl help flags`',
      indented(Object.keys(globalFlags).map((flag) => `--${flag}`)),
    ),
    ...section('Topics, with `voucherctl help TOPIC`', indented(topics)),
    ...section(start, rows(inSection(start).map((it) => [it.name, it.summary]))),
  ]
}

const indented = (words: readonly string[]) => wrap(words.join(' '), WIDTH - 2).map((it) => `  ${it}`)

async function helpOfNode(node: Node, path: readonly string[]): Promise<string[]> {
  if (!isGroup(node)) return helpOfLeaf(node, path)
  const leaves = await leavesOfEntries([node], path.slice(0, -1))
  if (node.own === undefined) return helpOfGroup(node, path, leaves)
  const beneath = leaves.slice(1).map(([names, { summary }]) => [names.join(' '), summary] as const)
  return [...helpOfLeaf(node.own, path), ...section('Subcommands', rows(beneath))]
}

const helpOfGroup = ({ summary, alias }: Group, path: readonly string[], leaves: readonly NamedLeaf[]): string[] => [
  `${summary}.`,
  '',
  `Usage: voucherctl ${path.join(' ')} <command> [flags]`,
  ...(alias === undefined ? [] : [`Alias: ${alias}`]),
  ...section(
    'Commands',
    rows(leaves.map(([names, it]) => [synopsis(names.slice(path.length), operandsOf(it)), it.summary])),
  ),
  ...section('Examples', exampleLines(leaves.flatMap(([, it]) => it.examples.slice(0, 1)).slice(0, GROUP_EXAMPLES))),
  '',
  `\`voucherctl ${path.join(' ')} <command> --help\` shows flags and examples.`,
]

function helpOfLeaf(leaf: Leaf, path: readonly string[]): string[] {
  const { summary, flags = {}, table, notes = [], examples } = leaf
  const operands = operandsOf(leaf)
  const needed = Object.entries(flags).filter(([, flag]) => isRequired(flag))
  const usage = [synopsis(path, operands), ...needed.map(([flag, { value }]) => `--${flag} ${value}`), '[flags]']
  return [
    `${summary}.`,
    '',
    ...wrap(`Usage: voucherctl ${usage.join(' ')}`, WIDTH, '  '),
    ...section(examples.length > 1 ? 'Examples' : 'Example', exampleLines(examples)),
    ...section(operands.length > 1 ? 'Arguments' : 'Argument', rows(operands.map((it) => [it.name, it.summary]))),
    ...section('Flags', flagLines(flags)),
    ...(table === undefined ? [] : section(table.title, rows(table.rows))),
    ...notes.flatMap((note) => ['', ...wrap(note, WIDTH)]),
    '',
    '`voucherctl help flags` explains the flags of every command.',
  ]
}

const section = (title: string, content: readonly string[]) =>
  content.length === 0 ? [] : ['', `${title}:`, ...content]

const GROUP_EXAMPLES = 2

const exampleLines = (examples: readonly Example[]) =>
  examples.flatMap(({ command, comment }) => [
    ...(comment === undefined ? [] : [`  # ${comment}`]),
    ...brokenCommand(command),
  ])

/** Breaks a long command before flags, as a shell continues it. @param margin text before the command */
export function brokenCommand(command: string, margin = MARGIN, width = WIDTH): string[] {
  const [first = '', ...words] = command.split(/ (?=-)(?=(?:[^"']|"[^"]*"|'[^']*')*$)/)
  if (command.length + margin.length <= width) return [margin + command]
  const broken = wrapWords([margin + first, ...words], width - CONTINUED.length, ' '.repeat(margin.length + 2))
  return broken.map((line, at) => (at < broken.length - 1 ? line + CONTINUED : line))
}

const MARGIN = '  $ '
const CONTINUED = ' \\'

export const helpOfFlags = () => lines(flagLines(globalFlags))

/** True if the command refuses to run without the flag. */
export const isRequired = ({ ask, ownerOf }: Flag<unknown>) => ask !== undefined && ownerOf === undefined

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
    // If another flag can replace this one, the mark of the other flag says so.
    conflicts === undefined || unless !== undefined ? '' : `not with ${inWords(conflicts)}`,
  ].filter((mark) => mark !== '')
}

export const lines = (all: readonly string[]) => all.join('\n')
