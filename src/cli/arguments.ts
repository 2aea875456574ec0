import { Command, CommanderError, Option } from 'commander'
import type { Failure } from './failure.js'
import { usage } from './failure.js'
import type { Flags } from './flags.js'
import { globalFlags } from './globals.js'
import type { Leaf, Node } from './leaf.js'
import { isGroup } from './leaf.js'
import { operandsOf } from './operands.js'
import { findNode, page, topics } from './program.js'

/** What was typed, taken apart: the command, and the texts of each flag. */
export interface Parsed {
  readonly ok: true
  readonly leaf: Leaf
  /** `vouchers issue` */
  readonly path: readonly string[]
  readonly given: ReadonlyMap<string, readonly string[]>
  readonly positional: string | undefined
  readonly second: string | undefined
  readonly rest: readonly string[]
}

type Given = Map<string, string[]>

/** Takes the arguments apart with commander, from the command tree. `loaded` is the entry that they name, if any. */
export function parseArguments(argv: readonly string[], loaded: Node | undefined): Parsed | Failure {
  const given: Given = new Map()
  let parsed: Parsed | undefined
  const program = newCommand('voucherctl')
  const names = operandsOf(argv)
  addFlags(program, globalFlags, given)
  if (loaded === undefined) {
    const parent = names[0] === 'help' ? addName(program, 'help') : program
    for (const { name, alias } of page) addName(parent, name, alias)
    if (parent !== program) for (const name of Object.keys(topics)) addName(parent, name)
  } else add(program, loaded, [], names, given, (it) => (parsed = it))
  try {
    program.parse([...argv], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.code === 'commander.help' ? incomplete(program, argv) : mistake(error, program, argv)
  }
  return parsed ?? incomplete(program, argv)
}

function newCommand(name: string): Command {
  return new Command(name)
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: () => {} })
    .helpOption(false)
    .helpCommand(false)
}

type Found = (parsed: Parsed) => void

/** Adds a command, and beneath a group the one that is named; only when none is, all names, for suggestions. */
function add(
  parent: Command,
  node: Node,
  path: readonly string[],
  names: readonly string[],
  given: Given,
  found: Found,
): void {
  const command = addName(parent, node.name, 'alias' in node ? node.alias : undefined)
  const here = [...path, node.name]
  if (isGroup(node)) {
    const child = findNode(node.commands, names[1])
    if (child !== undefined) add(command, child, here, names.slice(1), given, found)
    else if (node.own !== undefined) addLeaf(command, node.own, here, given, found)
    else for (const { name } of node.commands) addName(command, name)
  } else addLeaf(command, node, here, given, found)
}

function addLeaf(command: Command, leaf: Leaf, path: readonly string[], given: Given, found: Found): void {
  addFlags(command, leaf.flags ?? {}, given)
  if (leaf.positional !== undefined)
    command.argument(`[${leaf.positional.name}${leaf.positional.several ? '...' : ''}]`)
  if (leaf.second !== undefined) command.argument(`[${leaf.second.name}]`)
  command.action((...args: unknown[]) => {
    const [first, second] = args.map((it) => (typeof it === 'string' ? it : undefined))
    const [positional = first, ...rest] = Array.isArray(args[0]) ? (args[0] as string[]) : []
    found({ ok: true, leaf, path, given, positional, second, rest })
  })
}

function addName(parent: Command, name: string, alias?: string): Command {
  const command = newCommand(name)
  parent.addCommand(command)
  return alias === undefined ? command : command.alias(alias)
}

function addFlags(command: Command, flags: Flags, given: Given): void {
  for (const [name, { letter, value }] of Object.entries(flags)) {
    const long = value === undefined ? `--${name}` : `--${name} <value>`
    command.addOption(new Option(letter === undefined ? long : `-${letter}, ${long}`))
    command.on(`option:${name}`, (text: string | null | undefined) => {
      given.set(name, [...(given.get(name) ?? []), text ?? ''])
    })
  }
}

/** The first line says what is wrong, a second one may suggest what was meant. */
function mistake({ message }: CommanderError, program: Command, argv: readonly string[]): Failure {
  const [first = '', suggestion] = message.replace(/^error: /, '').split('\n')
  const text = `${first.charAt(0).toUpperCase()}${first.slice(1)}`.replace(/\.?$/, '.')
  const asksVersion = ['version', '-v', '-V'].includes(argv[0] ?? '')
  const command = reached(program, argv)
  const known = command.name() === 'help' ? program : command
  const hint = asksVersion ? 'Did you mean --version?' : `See \`${fullName(known)} --help\`.`
  return usage(text, suggestion?.replace(/^\((.*)\)$/, '$1') ?? hint)
}

function incomplete(program: Command, argv: readonly string[]): Failure {
  const command = reached(program, argv)
  const path = fullName(command)
  return usage(
    `${path} needs a command.`,
    `It takes one of ${command.commands.map((it) => it.name()).join(', ')}; see \`${path} --help\`.`,
  )
}

/** The command as far as its names are known. */
function reached(program: Command, argv: readonly string[]): Command {
  let command = program
  for (const name of operandsOf(argv)) {
    const next = command.commands.find((it) => it.name() === name || it.alias() === name)
    if (next === undefined) break
    command = next
  }
  return command
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`
}
