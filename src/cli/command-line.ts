import { Command, CommanderError, Option } from 'commander'
import { aliasesOf, isGroup, type Leaf, loadNode, type Node } from './command/leaf.js'
import type { Topic } from './command/topics.js'
import { type Failure, usage } from './failures/failure.js'
import type { Flags } from './flags/flags.js'
import { globalFlags } from './flags/globals.js'
import { entries, topics } from './program.js'

/**
 * Parses the arguments with commander and the command tree; no other module parses them. It loads the commands of a
 * group when commander reaches the group's name (DECISIONS.md#command-line). Shell completion uses it for unfinished
 * lines.
 */
export class CommandLine {
  /** Full names of group and command, such as `vouchers issue`; empty for the program itself. */
  path: readonly string[] = []
  /** The group or command with that path; undefined for the program itself. */
  node: Node | undefined
  /** The command to run; undefined for a group that has no command of its own. */
  leaf: Leaf | undefined
  topic: Topic | undefined
  /** The values of each flag as typed, in their order; a flag without a value has an empty text. */
  readonly given: Map<string, readonly string[]> = new Map()
  /** True after the word `help`, which names of commands and topics follow. */
  asksHelp = false
  /** The failure code that `help` is to explain, as typed. */
  code: string | undefined
  /** The flag at the end of an unfinished line whose value is missing. */
  awaiting: string | undefined

  /** Commander's object for the group or command whose words it is parsing. */
  #current = newProgram()
  readonly #enter = new Map<Command, () => void | Promise<void>>()
  /** The first flag whose required value is missing. */
  #incomplete: string | undefined
  /** The first flag that stands before the command to which it belongs. */
  #early: string | undefined
  #error: CommanderError | undefined

  /** The page to print instead of running a command. */
  get shows(): 'help' | 'version' | undefined {
    if (this.given.has('help')) return 'help'
    return this.given.has('version') ? 'version' : undefined
  }

  /** Positional arguments of the command. */
  get operands(): readonly string[] {
    return this.leaf === undefined ? [] : this.#current.args
  }

  /** True if the line has a word that is not a command name where a command name belongs. */
  get hasUnknownCommand(): boolean {
    return this.leaf === undefined && this.#error !== undefined && this.#error.code !== MISSING_NAME
  }

  /** Parses a line that may be unfinished or invalid; it reports no error. */
  async read(words: readonly string[]): Promise<void> {
    const program = this.#current
    this.#prepare(program)
    this.#addEntries()
    this.#addName('help', () => this.#enterHelp())
    this.#addName('version', () => void this.given.set('version', ['']))
    this.#addName('logs', async () => {
      this.path = ['server']
      this.#enterNode((await import('./commands/server/logs.js')).logs)
    })
    try {
      await program.parseAsync([...words], { from: 'user' })
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error
      this.#error = error
    }
  }

  /** Parses a complete line. @returns the failure if the line is invalid */
  async parse(argv: readonly string[]): Promise<Failure | undefined> {
    await this.read(argv)
    const error = this.#error
    if (argv.length === 0) this.given.set('help', [''])
    if (this.#incomplete !== undefined) return missingValue(`--${this.#incomplete}`)
    if (this.#early !== undefined) return this.#tooEarly(`--${this.#early}`)
    this.code = await this.#explainedCode()
    if (this.code !== undefined) return undefined
    if (error?.code === MISSING_NAME) return this.shows === undefined ? this.#unfinished() : undefined
    // A request for help succeeds even if other words of the line are invalid.
    if (error === undefined || (this.shows === 'help' && this.leaf !== undefined)) return undefined
    return this.#mistake(error)
  }

  async #explainedCode(): Promise<string | undefined> {
    if (!this.asksHelp || this.path.length > 0 || this.#error?.code !== 'commander.unknownCommand') return undefined
    const { isKnownCode } = await import('./failures/codes.js')
    return this.#current.args.length === 1 ? this.#current.args.find(isKnownCode) : undefined
  }

  /** Prepares a level of the tree: it parses the words up to the next name, so a flag belongs to the name before it. */
  #prepare(command: Command): void {
    this.#current = command
    this.#addFlags(globalFlags)
    command.hook('preSubcommand', (_parent, child) => {
      this.#early ??= [...this.given.keys()].find((name) => !Object.hasOwn(globalFlags, name))
      this.#prepare(child)
      return this.#enter.get(child)?.()
    })
  }

  #addName(name: string, enter: () => void | Promise<void>, aliases: readonly string[] = []): void {
    this.#enter.set(this.#current.command(name).aliases(aliases).helpCommand(false), enter)
  }

  #addEntries(): void {
    for (const { name, alias, load } of entries) {
      this.#addName(name, async () => this.#enterNode(await load()), alias === undefined ? [] : [alias])
    }
  }

  #enterHelp(): void {
    this.asksHelp = true
    this.given.set('help', [''])
    this.#addEntries()
    for (const name of Object.keys(topics) as Topic[]) {
      this.#addName(name, () => {
        this.topic = name
      })
    }
  }

  #enterNode(node: Node): void {
    const command = this.#current
    this.node = node
    this.path = [...this.path, node.name]
    if (isGroup(node)) {
      for (const child of node.commands) {
        const aliases = aliasesOf(child, node.commands)
        this.#addName(child.name, async () => this.#enterNode(await loadNode(child)), aliases)
      }
    }
    this.leaf = isGroup(node) ? node.own : node
    if (this.leaf === undefined) return
    const { flags = {}, positional, second } = this.leaf
    this.#addFlags(flags)
    if (positional !== undefined) command.argument(`[${positional.name}${positional.several ? '...' : ''}]`)
    if (second !== undefined) command.argument(`[${second.name}]`)
    command.action(() => {})
  }

  #addFlags(flags: Flags): void {
    for (const [name, { letter, value, bare }] of Object.entries(flags)) {
      // The value is optional for commander, so that no word with a dash is taken (DECISIONS.md#values-of-flags).
      const long = value === undefined ? `--${name}` : `--${name} [value]`
      const option = new Option(letter === undefined ? long : `-${letter}, ${long}`)
      if (value !== undefined) option.preset(NO_VALUE)
      option.argParser<unknown>((text: unknown) => {
        this.awaiting = text === NO_VALUE ? name : undefined
        if (bare === undefined) this.#incomplete ??= this.awaiting
        this.given.set(name, [...(this.given.get(name) ?? []), typeof text === 'string' ? text : (bare ?? '')])
      })
      this.#current.addOption(option)
    }
  }

  async #mistake({ code, message }: CommanderError): Promise<Failure> {
    const [word = '', ...rest] = this.#current.args
    if (code === 'commander.unknownOption' && this.leaf === undefined) {
      const misplaced = await this.#misplaced(word.split('=')[0] ?? '', rest)
      if (misplaced !== undefined) return misplaced
    }
    // Commander writes its suggestion in parentheses on a second line.
    const [fault = '', similar] = message.replace('error: ', '').split('\n')
    const text = `${fault.charAt(0).toUpperCase()}${fault.slice(1)}`.replace(/\.?$/, '.')
    const hint = (await this.#hint(code, word)) ?? similar?.slice(1, -1)
    return usage(text, hint ?? `See \`${this.#name} --help\`.`)
  }

  /** Suggests for a word at the start of the line what commander cannot: commands of that name in any group. */
  async #hint(code: string, word: string): Promise<string | undefined> {
    if (this.path.length > 0) return undefined
    if (word === '-V') return 'Did you mean --version?'
    if (code !== 'commander.unknownCommand' || this.shows === 'help') return undefined
    const { commandsNamed } = await import('./command/help.js')
    const found = (await commandsNamed(entries, word)).map((it) => `\`voucherctl ${it}\``)
    return found.length === 0 ? undefined : `Did you mean ${found.join(' or ')}?`
  }

  #unfinished(): Failure {
    const names = this.#current.commands.map((it) => it.name()).join(', ')
    return usage(`${this.#name} needs a command.`, `It takes one of ${names}; see \`${this.#name} --help\`.`)
  }

  /** Refuses a flag that stands before its command; undefined if no word after it names a command with that flag. */
  async #misplaced(flag: string, words: readonly string[]): Promise<Failure | undefined> {
    const names = words.filter((it) => !it.startsWith('-'))
    for (const first of names.keys()) {
      const { leaf, path } = await lineOf([...this.path, ...names.slice(first)])
      if (leaf !== undefined && hasFlag(leaf, flag)) return belongsAfter(path, flag)
    }
    return undefined
  }

  /** Refuses a flag of a group's own command that stands before the name of another command. */
  #tooEarly(flag: string): Failure {
    if (this.leaf !== undefined && hasFlag(this.leaf, flag)) return belongsAfter(this.path, flag)
    return usage(`\`${this.#name}\` has no option '${flag}'.`, `See \`${this.#name} --help\`.`)
  }

  get #name(): string {
    return nameOf(this.path)
  }
}

/** Code of commander's error if a command name is missing at the end of the line. */
const MISSING_NAME = 'commander.help'

/** Parses the words of a line that may be unfinished. */
export async function lineOf(words: readonly string[]): Promise<CommandLine> {
  const line = new CommandLine()
  await line.read(words)
  return line
}

/** Commands inherit these settings: commander throws its errors, prints nothing, and parses the flags of each level. */
const newProgram = () =>
  new Command('voucherctl')
    .exitOverride()
    // Without the two getters, commander would open stderr, which takes 2 ms.
    .configureOutput({ outputError() {}, writeErr() {}, getErrHelpWidth: () => 80, getErrHasColors: () => false })
    // Without their aliases, which commander would suggest too.
    .configureHelp({
      formatHelp: () => '',
      visibleCommands: ({ commands }) => commands.map((it) => new Command(it.name())),
    })
    .helpOption(false)
    .helpCommand(false)
    .enablePositionalOptions()

/** What commander passes for a flag without its value; no text that a user types equals it. */
const NO_VALUE = Symbol('no value')

const nameOf = (path: readonly string[]) => ['voucherctl', ...path].join(' ')

const hasFlag = ({ flags = {} }: Leaf, flag: string) =>
  Object.entries(flags).some(([name, { letter }]) => flag === `--${name}` || flag === `-${letter}`)

const belongsAfter = (path: readonly string[], flag: string) =>
  usage(`Option '${flag}' belongs after the command: \`${nameOf(path)} ${flag} …\`.`)

const missingValue = (flag: string) =>
  usage(`Option '${flag}' needs a value.`, `Write a value that begins with a dash as ${flag}=-x.`)
