import { Command, CommanderError, Option } from 'commander'
import { isGroup, type Leaf, type Node } from './command/leaf.js'
import { type Failure, usage } from './failure.js'
import type { Flags } from './flags/flags.js'
import { globalFlags } from './flags/globals.js'
import { page, topics } from './program.js'
import type { Topic } from './topics.js'

/**
 * Parses the arguments with commander along the command tree; no other module reads them. A group is loaded when
 * commander reaches its name (DECISIONS.md#command-line). Completion parses the unfinished line of a shell with it.
 */
export class CommandLine {
  /** Full names of the command, such as `vouchers issue`; empty for the program itself. */
  path: readonly string[] = []
  /** The group or command at that path; undefined for the program itself. */
  node: Node | undefined
  /** The command to run; undefined at a group without a command of its own. */
  leaf: Leaf | undefined
  topic: Topic | undefined
  /** The values of each flag as text, in order; an empty text for a switch. */
  readonly given: Map<string, readonly string[]> = new Map()
  /** True below the word `help`, where names of commands and topics follow. */
  asksHelp = false
  /** The flag whose value comes next in an unfinished line. */
  awaiting: string | undefined

  /** The command whose flags and operands commander is parsing. */
  #current = newCommand('voucherctl')
  readonly #enter = new Map<Command, () => void | Promise<void>>()
  /** The first flag whose required value is missing. */
  #incomplete: string | undefined
  /** A flag of a group's own command that stands before the name of another command. */
  #early: string | undefined
  #error: CommanderError | undefined

  /** The page to show instead of running the command. */
  get shows(): 'help' | 'version' | undefined {
    if (this.given.has('help')) return 'help'
    return this.given.has('version') ? 'version' : undefined
  }

  /** The positional arguments. */
  get operands(): readonly string[] {
    return this.leaf === undefined ? [] : this.#current.args
  }

  /** True if a word in the place of a command name is not the name of a command. */
  get isLost(): boolean {
    return this.leaf === undefined && this.#error !== undefined && this.#error.code !== MISSING_NAME
  }

  /** Parses a line that may be unfinished or invalid, without an error. */
  async read(words: readonly string[]): Promise<void> {
    const program = this.#current
    this.#prepare(program)
    this.#addEntries(program)
    this.#addName(program, { name: 'help' }, () => this.#enterHelp())
    try {
      await program.parseAsync([...words], { from: 'user' })
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error
      this.#error = error
    }
  }

  /** @returns the refusal of an invalid line */
  async parse(argv: readonly string[]): Promise<Failure | undefined> {
    await this.read(argv)
    const error = this.#error
    if (argv.length === 0) this.given.set('help', [''])
    if (this.#incomplete !== undefined) return missingValue(`--${this.#incomplete}`)
    if (this.#early !== undefined) return this.#tooEarly(`--${this.#early}`)
    if (error?.code === MISSING_NAME) return this.shows === undefined ? this.#unfinished() : undefined
    // Help is shown even when the rest of the line is invalid.
    if (error === undefined || (this.shows === 'help' && this.leaf !== undefined)) return undefined
    return this.#mistake(error)
  }

  /** Each level parses the words before the next name, so that a flag belongs to the name before it. */
  #prepare(command: Command): void {
    this.#current = command
    this.#addFlags(command, globalFlags)
    command.enablePositionalOptions().hook('preSubcommand', (_parent, child) => {
      this.#early ??= [...this.given.keys()].find((name) => !Object.hasOwn(globalFlags, name))
      this.#prepare(child)
      return this.#enter.get(child)?.()
    })
  }

  #addName(
    parent: Command,
    { name, alias }: { readonly name: string; readonly alias?: string },
    enter: () => void | Promise<void>,
  ): void {
    const command = newCommand(name)
    parent.addCommand(alias === undefined ? command : command.alias(alias))
    this.#enter.set(command, enter)
  }

  #addEntries(parent: Command): void {
    for (const entry of page) this.#addName(parent, entry, async () => this.#enterNode(await entry.load()))
  }

  #enterHelp(): void {
    this.asksHelp = true
    this.given.set('help', [''])
    this.#addEntries(this.#current)
    for (const name of Object.keys(topics) as Topic[]) {
      this.#addName(this.#current, { name }, () => {
        this.topic = name
        this.#current.action(() => {})
      })
    }
  }

  #enterNode(node: Node): void {
    const command = this.#current
    this.node = node
    this.path = [...this.path, node.name]
    if (isGroup(node)) for (const child of node.commands) this.#addName(command, child, () => this.#enterNode(child))
    this.leaf = isGroup(node) ? node.own : node
    if (this.leaf === undefined) return
    const { flags = {}, positional, second } = this.leaf
    this.#addFlags(command, flags)
    if (positional !== undefined) command.argument(`[${positional.name}${positional.several ? '...' : ''}]`)
    if (second !== undefined) command.argument(`[${second.name}]`)
    command.action(() => {})
  }

  #addFlags(command: Command, flags: Flags): void {
    for (const [name, { letter, value }] of Object.entries(flags)) {
      // Where a value is optional, commander takes no word that begins with a dash (DECISIONS.md#values-of-flags).
      const long = value === undefined ? `--${name}` : `--${name} [value]`
      command.addOption(new Option(letter === undefined ? long : `-${letter}, ${long}`))
      command.on(`option:${name}`, (text: string | null | undefined) => {
        this.awaiting = value !== undefined && typeof text !== 'string' ? name : undefined
        this.#incomplete ??= this.awaiting
        this.given.set(name, [...(this.given.get(name) ?? []), text ?? ''])
      })
    }
  }

  async #mistake({ code, message }: CommanderError): Promise<Failure> {
    const [word = '', ...rest] = this.#current.args
    if (code === 'commander.unknownOption' && this.leaf === undefined) {
      const misplaced = await this.#misplaced(word.split('=')[0] ?? '', rest)
      if (misplaced !== undefined) return misplaced
    }
    // The first line of commander's message names the fault; the second may suggest a correction.
    const [first = '', suggestion] = message.replace(/^error: /, '').split('\n')
    const text = `${first.charAt(0).toUpperCase()}${first.slice(1)}`.replace(/\.?$/, '.')
    return usage(text, suggestion?.replace(/^\((.*)\)$/, '$1') ?? (await this.#hint(code, word)))
  }

  async #hint(code: string, word: string): Promise<string> {
    const see = `See \`${this.#name} --help\`.`
    if (this.path.length > 0) return see
    if (['version', '-v', '-V'].includes(word)) return 'Did you mean --version?'
    if (code !== 'commander.unknownCommand' || this.shows === 'help') return see
    const { commandsNamed } = await import('./command/help.js')
    const found = (await commandsNamed(page, word)).map((it) => `\`voucherctl ${it}\``)
    return found.length === 0 ? see : `Did you mean ${found.join(' or ')}?`
  }

  #unfinished(): Failure {
    const names = this.#current.commands.map((it) => it.name()).join(', ')
    return usage(`${this.#name} needs a command.`, `It takes one of ${names}; see \`${this.#name} --help\`.`)
  }

  /** Refuses a flag that stands before the name of its command; undefined when no later word names such a command. */
  async #misplaced(flag: string, words: readonly string[]): Promise<Failure | undefined> {
    const names = words.filter((it) => !it.startsWith('-'))
    for (const first of names.keys()) {
      const { leaf, path } = await lineOf([...this.path, ...names.slice(first)])
      if (leaf !== undefined && hasFlag(leaf, flag)) return belongsAfter(path, flag)
    }
    return undefined
  }

  /** Refuses a flag of a group's own command that precedes the name of another command. */
  #tooEarly(flag: string): Failure {
    if (this.leaf !== undefined && hasFlag(this.leaf, flag)) return belongsAfter(this.path, flag)
    return usage(`\`${this.#name}\` has no option '${flag}'.`, `See \`${this.#name} --help\`.`)
  }

  get #name(): string {
    return nameOf(this.path)
  }
}

/** Code of commander's error for a missing command name. */
const MISSING_NAME = 'commander.help'

/** Parses words that may be an unfinished line. */
export async function lineOf(words: readonly string[]): Promise<CommandLine> {
  const line = new CommandLine()
  await line.read(words)
  return line
}

const newCommand = (name: string) =>
  new Command(name)
    .exitOverride()
    // Disable commander's own help, which it prints if a name is missing.
    .configureOutput({ writeErr: () => {}, writeOut: () => {} })
    .configureHelp({ formatHelp: () => '' })
    .helpOption(false)
    .helpCommand(false)

const nameOf = (path: readonly string[]) => ['voucherctl', ...path].join(' ')

const hasFlag = ({ flags = {} }: Leaf, flag: string) =>
  Object.entries(flags).some(([name, { letter }]) => flag === `--${name}` || flag === `-${letter}`)

const belongsAfter = (path: readonly string[], flag: string) =>
  usage(`Option '${flag}' belongs after the command: \`${nameOf(path)} ${flag} …\`.`)

const missingValue = (flag: string) =>
  usage(`Option '${flag}' needs a value.`, `Write a value that begins with a dash as ${flag}=-x.`)
