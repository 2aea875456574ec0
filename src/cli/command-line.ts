import { Command, CommanderError, Option } from 'commander'
import { closest } from '../values/closest.js'
import { aliasesOf, isGroup, type LazyNode, type Leaf, loadNode, type Node } from './command/leaf.js'
import { type Failure, suggested, usage } from './failures/failure.js'
import type { Flags } from './flags/flags.js'
import { globalFlags } from './flags/globals.js'
import { entries, topics } from './program.js'

/**
 * Parses the arguments with commander and the command tree; no other module parses them. It loads the commands of a
 * group when commander reaches the group's name (rules/cli.md#command-line). Shell completion uses it for unfinished
 * lines.
 */
export class CommandLine {
  /** Full names of group and command, such as `vouchers issue`; empty for the program itself. */
  path: readonly string[] = []
  /** The group or command with that path; undefined for the program itself. */
  node: Node | undefined
  /** The command to run; undefined for a group that cannot run as a command. */
  leaf: Leaf | undefined
  /** The topic or failure code that `help` is to explain. */
  topic: string | undefined
  /** The values of each flag as typed, in their order; a flag without a value has an empty text. */
  readonly given: Map<string, readonly string[]> = new Map()
  /** True after the word `help`, which names of commands and topics follow. */
  asksHelp = false
  /** The flag at the end of an unfinished line whose value is missing. */
  awaiting: string | undefined

  readonly #globals = this.#optionsOf(globalFlags)
  /** Commander's object for the group or command whose words it is parsing. */
  #current = newProgram()
  #words: readonly string[] = []
  /** The names that may follow at this level. */
  #names: string[] = []
  readonly #enter = new Map<Command, () => void | Promise<void>>()
  /** The first flag whose required value is missing. */
  #incomplete: string | undefined
  /** The first flag that stands before the command that defines it. */
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
    this.#words = words
    this.#prepare(program)
    this.#addNodes(entries)
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
    if (error?.code === UNKNOWN_NAME && (await this.#explainsCode())) return undefined
    if (error?.code === MISSING_NAME) return this.shows === undefined ? this.#unfinished() : undefined
    // A request for help succeeds even if other words of the line are invalid.
    if (error === undefined || (this.shows === 'help' && this.leaf !== undefined)) return undefined
    return this.#mistake(error)
  }

  /** Accepts a failure code after the word `help`. */
  async #explainsCode(): Promise<boolean> {
    const [code = '', ...others] = this.#current.args
    if (!this.asksHelp || this.path.length > 0 || others.length > 0) return false
    const { isKnownCode } = await import('./failures/codes.js')
    if (isKnownCode(code)) this.topic = code
    return this.topic !== undefined
  }

  /** Prepares a level of the tree: it parses the words up to the next name, so a flag belongs to the name before it. */
  #prepare(command: Command): void {
    this.#current = command
    this.#names = []
    for (const it of this.#globals) command.addOption(it)
    command.hook('preSubcommand', (_parent, child) => {
      this.#early ??= [...this.given.keys()].find((name) => !Object.hasOwn(globalFlags, name))
      this.#prepare(child)
      return this.#enter.get(child)?.()
    })
  }

  /** Adds a name that may follow. Commander gets only names on the line, and the first one, to refuse others. */
  #addName(name: string, enter: () => void | Promise<void>, aliases: readonly string[] = []): void {
    this.#names.push(name)
    // An object of commander takes 4 KB and 0.02 ms; a command below 1 MB needs no garbage collection.
    if (this.#names.length > 1 && ![name, ...aliases].some((it) => this.#words.includes(it))) return
    this.#enter.set(this.#current.command(name).aliases(aliases).helpCommand(false), enter)
  }

  #addNodes(nodes: readonly (Node | LazyNode)[]): void {
    for (const it of nodes)
      this.#addName(it.name, async () => this.#enterNode(await loadNode(it)), aliasesOf(it, nodes))
  }

  #enterHelp(): void {
    this.asksHelp = true
    this.given.set('help', [''])
    // Help on `evidence` is its document; the flags of the command are in `evidence --help`.
    this.#addNodes(entries.filter(({ name }) => !(name in topics)))
    for (const name of Object.keys(topics)) this.#addName(name, () => void (this.topic = name))
  }

  #enterNode(node: Node): void {
    const command = this.#current
    this.node = node
    this.path = [...this.path, node.name]
    if (isGroup(node)) this.#addNodes(node.commands)
    this.leaf = isGroup(node) ? node.own : node
    if (this.leaf === undefined) return
    const { flags = {}, positional, second } = this.leaf
    for (const it of this.#optionsOf(flags)) command.addOption(it)
    if (positional !== undefined) command.argument(`[${positional.name}${positional.several ? '...' : ''}]`)
    if (second !== undefined) command.argument(`[${second.name}]`)
    command.action(() => {})
  }

  #optionsOf(flags: Flags): Option[] {
    return Object.entries(flags).map(([name, { letter, value, bare }]) => {
      // The value is optional for commander, so that no word with a dash is taken (rules/cli.md#values-of-flags).
      const long = value === undefined ? `--${name}` : `--${name} [value]`
      const option = new Option(letter === undefined ? long : `-${letter}, ${long}`)
      if (value !== undefined) option.preset(NO_VALUE)
      return option.argParser<unknown>((text: unknown) => {
        this.awaiting = text === NO_VALUE ? name : undefined
        if (bare === undefined) this.#incomplete ??= this.awaiting
        this.given.set(name, [...(this.given.get(name) ?? []), typeof text === 'string' ? text : (bare ?? '')])
      })
    })
  }

  async #mistake({ code }: CommanderError): Promise<Failure> {
    const [word = '', ...rest] = this.#current.args
    const flag = this.#unknownFlag()
    if (code === UNKNOWN_FLAG && this.leaf === undefined) {
      const misplaced = await this.#misplaced(nameIn(flag), rest)
      if (misplaced !== undefined) return misplaced
    }
    const see = `See \`${nameOf(this.path)} --help\`.`
    const hint = (meant: string | undefined) => (meant === undefined ? see : `Did you mean ${meant}?`)
    if (code === UNKNOWN_FLAG) {
      const asCurl = nameIn(flag) === '--curl' ? await this.#curlHint() : undefined
      return usage(`Unknown option '${flag}'.`, asCurl ?? hint(this.#meantFlag()))
    }
    if (code === UNKNOWN_NAME) return usage(`Unknown command '${word}'.`, hint(await this.#meantName(word)))
    const { length } = this.#current.registeredArguments
    const takes = `Expected ${length} argument${length === 1 ? '' : 's'} but got ${rest.length + 1}.`
    return usage(`Too many arguments for '${this.#current.name()}'. ${takes}`, see)
  }

  /** Commander puts operands, among them negative numbers of a command, before unknown flags and what follows them. */
  #unknownFlag(): string {
    const isNumber = (word: string) => this.leaf !== undefined && NEGATIVE_NUMBER.test(word)
    return this.#current.args.find((it) => it.length > 1 && it.startsWith('-') && !isNumber(it)) ?? ''
  }

  /** Only `api` has the flag `--curl`. It looks up no names, so the path gets an operand only if that is an id. */
  async #curlHint(): Promise<string | undefined> {
    const { endpoint } = this.leaf ?? {}
    if (endpoint === undefined) return undefined
    const { kindOfId } = await import('../contract/record-kinds.js')
    const path = endpoint.path.replace(/:\w+/, (it) => this.operands.find(kindOfId) ?? it)
    return `${suggested`api ${endpoint.method} ${path} --curl`} prints the call as curl; -F NAME=VALUE adds members. --dry-run shows the call of this command.`
  }

  #meantFlag(): string | undefined {
    const { args, options } = this.#current
    const known = options.map((it) => it.long ?? '')
    const flag = args.find((it) => it.startsWith('--')) ?? ''
    return args.includes('-V') ? '--version' : closest(flag.replace(/=.*/, ''), known)
  }

  /**
   * Finds commands of any group for a word at the start of the line, or the name that it may misspell, or else the
   * operator's command of that name.
   */
  async #meantName(word: string): Promise<string | undefined> {
    if (this.path.length === 0 && this.shows !== 'help') {
      if (word === 'docs') return '`voucherctl help`'
      const { leavesOfEntries } = await import('./command/tree.js')
      const paths = (await leavesOfEntries(entries)).map(([path]) => path)
      const found = paths.filter((path) => path.length > 1 && path.at(-1) === word)
      if (found.length > 0 && found.length <= SUGGESTED_MAX) return found.map((it) => `\`${nameOf(it)}\``).join(' or ')
    }
    const near = closest(word, this.#names)
    if (near !== undefined || this.path.length === 0) return near
    const { leaf, path } = await lineOf(['platform', ...this.path, word])
    return leaf && `\`${nameOf(path)}\``
  }

  #unfinished(): Failure {
    const name = nameOf(this.path)
    return usage(`${name} needs a command.`, `It takes one of ${this.#names.join(', ')}; see \`${name} --help\`.`)
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
    return usage(`\`${nameOf(this.path)}\` has no option '${flag}'.`, `See \`${nameOf(this.path)} --help\`.`)
  }
}

/** Commander's error code for a line that ends where a command name belongs. Other codes follow. */
const MISSING_NAME = 'commander.help'
const UNKNOWN_NAME = 'commander.unknownCommand'
const UNKNOWN_FLAG = 'commander.unknownOption'

/** Commander takes such a word as a value. */
const NEGATIVE_NUMBER = /^-(\d+|\d*\.\d+)(e[+-]?\d+)?$/

/** Name of a flag without its value. */
const nameIn = (flag: string) => flag.split('=')[0] ?? ''

/** Maximum number of commands in a suggestion. */
const SUGGESTED_MAX = 4

/** Parses the words of a line that may be unfinished. */
export async function lineOf(words: readonly string[]): Promise<CommandLine> {
  const line = new CommandLine()
  await line.read(words)
  return line
}

/** A level of the command tree; the build leaves out commander's help, which `help` would print. */
class Level extends Command {
  override createCommand(name?: string): Level {
    return new Level(name)
  }

  override help(): never {
    throw new CommanderError(1, MISSING_NAME, '')
  }
}

/** Levels inherit these settings: commander throws its errors, prints nothing, and parses the flags of each level. */
const newProgram = () =>
  new Level('voucherctl')
    .exitOverride()
    .configureOutput({ outputError() {} })
    .showSuggestionAfterError(false)
    .helpOption(false)
    .helpCommand(false)
    .enablePositionalOptions()

/** Value that commander passes for a flag without its value; no typed text equals it. */
const NO_VALUE = Symbol('no value')

const nameOf = (path: readonly string[]) => ['voucherctl', ...path].join(' ')

const hasFlag = ({ flags = {} }: Leaf, flag: string) =>
  Object.entries(flags).some(([name, { letter }]) => flag === `--${name}` || flag === `-${letter}`)

const belongsAfter = (path: readonly string[], flag: string) =>
  usage(`Option '${flag}' belongs after the command: \`${nameOf(path)} ${flag} …\`.`)

const missingValue = (flag: string) =>
  usage(`Option '${flag}' needs a value.`, `Write a value that begins with a dash as ${flag}=-x.`)
