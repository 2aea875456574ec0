import { Command, CommanderError, type ErrorOptions, Option } from 'commander'
import { closest } from '../contract/values/closest.js'
import { aliasesOf, isGroup, type Leaf, loadNode, type Node } from './command/leaf.js'
import { type Failure, usage } from './failure.js'
import type { Flags } from './flags/flags.js'
import { globalFlags } from './flags/globals.js'
import { entries, topics } from './program.js'
import type { Topic } from './topics.js'

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
  #current = newCommand('voucherctl')
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
    this.#addEntries(program)
    this.#addName(program, { name: 'help' }, () => this.#enterHelp())
    this.#addName(program, { name: 'version' }, () => {
      this.given.set('version', [''])
      this.#current.action(() => {})
    })
    for (const [name, path] of Object.entries(shortcuts)) this.#addName(program, { name }, () => this.#enterPath(path))
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
    const { isKnownCode } = await import('./exit.js')
    return this.#current.args.length === 1 ? this.#current.args.find(isKnownCode) : undefined
  }

  /** Prepares a level of the tree: it parses the words up to the next name, so a flag belongs to the name before it. */
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
    { name, aliases = [] }: { readonly name: string; readonly aliases?: readonly string[] },
    enter: () => void | Promise<void>,
  ): void {
    const command = newCommand(name).aliases([...aliases])
    parent.addCommand(command)
    this.#enter.set(command, enter)
  }

  #addEntries(parent: Command): void {
    for (const { name, alias, load } of entries) {
      const aliases = alias === undefined ? [] : [alias]
      this.#addName(parent, { name, aliases }, async () => this.#enterNode(await load()))
    }
  }

  /** Enters a command of a group by a name on the first level. */
  async #enterPath([group, name]: readonly [group: string, name: string]): Promise<void> {
    const node = await entries.find((it) => it.name === group)?.load()
    const child = node !== undefined && isGroup(node) ? node.commands.find((it) => it.name === name) : undefined
    if (child === undefined) throw new Error(`no command ${group} ${name}`)
    this.path = [group]
    this.#enterNode(await loadNode(child))
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
    if (isGroup(node)) {
      for (const child of node.commands) {
        const aliases = aliasesOf(child, node.commands)
        this.#addName(command, { name: child.name, aliases }, async () => this.#enterNode(await loadNode(child)))
      }
    }
    this.leaf = isGroup(node) ? node.own : node
    if (this.leaf === undefined) return
    const { flags = {}, positional, second } = this.leaf
    this.#addFlags(command, flags)
    if (positional !== undefined) command.argument(`[${positional.name}${positional.several ? '...' : ''}]`)
    if (second !== undefined) command.argument(`[${second.name}]`)
    command.action(() => {})
  }

  #addFlags(command: Command, flags: Flags): void {
    for (const [name, { letter, value, bare }] of Object.entries(flags)) {
      // The value is optional for commander, so that no word with a dash is taken (DECISIONS.md#values-of-flags).
      const long = value === undefined ? `--${name}` : `--${name} [value]`
      command.addOption(new Option(letter === undefined ? long : `-${letter}, ${long}`))
      command.on(`option:${name}`, (text: string | null | undefined) => {
        this.awaiting = value !== undefined && typeof text !== 'string' ? name : undefined
        if (bare === undefined) this.#incomplete ??= this.awaiting
        this.given.set(name, [...(this.given.get(name) ?? []), text ?? bare ?? ''])
      })
    }
  }

  async #mistake({ code, message }: CommanderError): Promise<Failure> {
    const [word = '', ...rest] = this.#current.args
    if (code === 'commander.unknownOption' && this.leaf === undefined) {
      const misplaced = await this.#misplaced(word.split('=')[0] ?? '', rest)
      if (misplaced !== undefined) return misplaced
    }
    const fault = message.replace(/^error: /, '')
    const text = `${fault.charAt(0).toUpperCase()}${fault.slice(1)}`.replace(/\.?$/, '.')
    return usage(text, this.#similar(code, fault) ?? (await this.#hint(code, word)))
  }

  /** Suggests the command or flag that commander's message may misspell. */
  #similar(code: string, fault: string): string | undefined {
    const { commands, options } = this.#current
    const known = {
      'commander.unknownCommand': commands.map((it) => it.name()),
      'commander.unknownOption': options.map((it) => it.long ?? ''),
    }[code]
    const near = closest(/'([^'=]*)/.exec(fault)?.[1] ?? '', known ?? [])
    return near === undefined ? undefined : `Did you mean ${near}?`
  }

  async #hint(code: string, word: string): Promise<string> {
    const see = `See \`${this.#name} --help\`.`
    if (this.path.length > 0) return see
    if (word === '-V') return 'Did you mean --version?'
    if (code !== 'commander.unknownCommand' || this.shows === 'help') return see
    const { commandsNamed } = await import('./command/help.js')
    const found = (await commandsNamed(entries, word)).map((it) => `\`voucherctl ${it}\``)
    return found.length === 0 ? see : `Did you mean ${found.join(' or ')}?`
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

/** Names on the first level for commands of a group. */
const shortcuts: Readonly<Record<string, readonly [group: string, name: string]>> = { logs: ['server', 'logs'] }

/** Code of commander's error if a command name is missing at the end of the line. */
const MISSING_NAME = 'commander.help'

/** Parses the words of a line that may be unfinished. */
export async function lineOf(words: readonly string[]): Promise<CommandLine> {
  const line = new CommandLine()
  await line.read(words)
  return line
}

/** A command that throws commander's errors instead of printing them; the build omits commander's help. */
class Name extends Command {
  override help(): never {
    throw new CommanderError(1, MISSING_NAME, '')
  }

  override error(message: string, { code = '' }: ErrorOptions = {}): never {
    throw new CommanderError(1, code, message)
  }
}

const newCommand = (name: string) => new Name(name).showSuggestionAfterError(false).helpOption(false).helpCommand(false)

const nameOf = (path: readonly string[]) => ['voucherctl', ...path].join(' ')

const hasFlag = ({ flags = {} }: Leaf, flag: string) =>
  Object.entries(flags).some(([name, { letter }]) => flag === `--${name}` || flag === `-${letter}`)

const belongsAfter = (path: readonly string[], flag: string) =>
  usage(`Option '${flag}' belongs after the command: \`${nameOf(path)} ${flag} …\`.`)

const missingValue = (flag: string) =>
  usage(`Option '${flag}' needs a value.`, `Write a value that begins with a dash as ${flag}=-x.`)
