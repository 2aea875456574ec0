import { durationMs } from '../../values/duration.js'
import { isGroup, loadCommands } from '../command/leaf.js'
import { type CommandLine, lineOf } from '../command-line.js'
import { helpWord } from '../commands/completion/command-words.js'
import { isShell, shells } from '../commands/completion/shells.js'
import { conflictsOf, type Flag, type Flags } from '../flags/flags.js'
import { globalFlags } from '../flags/globals.js'
import type { Host, Word } from '../host/host.js'
import { fieldNames } from '../output/select-fields.js'
import { entries, topics } from '../program.js'
import type { IdTarget } from '../records/live.js'
import { isLocal, kindOfFlag, kindOfPositional, type LocalTarget, type ValueKind, wordsOf } from '../records/words.js'

/** Milliseconds from the request until completion gives up: the user waits after Tab (rules/cli.md#completion). */
const WAIT_MS = 250
const WAIT_VARIABLE = 'VOUCHERCTL_COMPLETION_TIMEOUT'

const SUMMARY_MAX = 60

/**
 * Completes an unfinished command line for the script of a shell. The first line of the result is `words`, `files` or
 * `folders`; after `words` follows one candidate per line, each with a tab and its summary.
 * @param args the name of the shell, and the command line as the script passes it
 * @returns an empty text on any failure, because completion must not print errors
 */
export async function candidates(args: readonly string[], host: Host): Promise<string> {
  const [name = '', ...rest] = args
  if (!isShell(name)) return ''
  const shell = shells[name]
  try {
    const typed = shell.read(rest, host.env)
    if (typed === 'redirection') return 'files\n'
    const target = await completionTargetAt(typed.before, typed.current)
    if (target.kind === 'files' || target.kind === 'folders') return `${target.kind}\n`
    const waitMs = durationMs(host.env[WAIT_VARIABLE] ?? '') ?? WAIT_MS
    const words =
      target.kind === 'words' ? target.words : ((await wordsOf(target, host, { waitMs, names: true })) ?? [])
    const lines = words
      .filter(({ value }) => shell.chooses || `${target.prefix}${value}`.startsWith(typed.current))
      .map(({ value, summary }) => [shell.write(target.prefix, value, typed), short(summary)])
      .map(([word, summary]) => (word === undefined ? '' : `${word}\t${summary}\n`))
    return `words\n${lines.join('')}`
  } catch {
    return ''
  }
}

const short = (summary: string) => (summary.length > SUMMARY_MAX ? `${summary.slice(0, SUMMARY_MAX - 1)}…` : summary)

/** Kind of word that completes the line. `prefix` is the part of the last word to keep, such as `--output=`. */
type CompletionTarget = { readonly prefix: string } & (
  | { readonly kind: 'words'; readonly words: readonly Word[] }
  | { readonly kind: 'files' }
  | { readonly kind: 'folders' }
  | IdTarget
  | LocalTarget
)

const nothing: CompletionTarget = { kind: 'words', prefix: '', words: [] }

/** Finds what to complete. @param before complete words after the program name @param current start of the last word */
async function completionTargetAt(before: readonly string[], current: string): Promise<CompletionTarget> {
  const line = await lineOf(before)
  if (line.awaiting !== undefined) return valueTarget(line, line.awaiting, '', current)
  // `--` ends the flags, because the parser never takes `--` as the value of a flag.
  const flagsEnded = before.includes('--')
  const begun = flagsEnded ? undefined : begunFlag(current, flagsOf(line))
  if (begun !== undefined) return valueTarget(line, begun.name, begun.prefix, current)
  if (line.hasUnknownCommand || line.topic !== undefined) return nothing
  if (!flagsEnded && current.startsWith('-')) return flagTarget(line, flagsOf(line))
  const { node, leaf, operands } = line
  if (leaf === undefined || (node !== undefined && isGroup(node) && operands.length === 0)) return nameTarget(line)
  if (line.asksHelp) return nothing
  const operand = leaf.positional?.several ? leaf.positional : [leaf.positional, leaf.second][operands.length]
  if (operand !== undefined) return ofKind(kindOfPositional(operand), line, '', operand.choices ?? [], current)
  return flagsEnded ? nothing : flagTarget(line, leaf.flags ?? {})
}

const flagsOf = ({ leaf }: CommandLine): Flags => ({ ...leaf?.flags, ...globalFlags })

/** Finds the flag in a word that also contains the start of its value, such as `--output=js` or `-ojs`. */
function begunFlag(word: string, flags: Flags): { readonly name: string; readonly prefix: string } | undefined {
  const [, long] = /^--([^=]+)=/.exec(word) ?? []
  if (long !== undefined) return { name: long, prefix: `--${long}=` }
  const [, letter = ''] = /^-([^-])./.exec(word) ?? []
  const [name] = Object.entries(flags).find(([, flag]) => flag.letter === letter && flag.value !== undefined) ?? []
  return name === undefined ? undefined : { name, prefix: `-${letter}` }
}

/** Completes the name of a command, or the argument of a group's own command. */
async function nameTarget({ node, leaf, asksHelp }: CommandLine): Promise<CompletionTarget> {
  const choices = asksHelp ? [] : (leaf?.positional?.choices ?? [])
  const below = node !== undefined && isGroup(node) ? await loadCommands(node) : entries
  const names = below.map(({ name, summary }) => ({ value: name, summary }))
  const topicNames = Object.entries(topics).map(([value, summary]) => ({ value, summary }))
  const more =
    node !== undefined ? choices.map((value) => ({ value, summary: '' })) : asksHelp ? topicNames : [helpWord]
  return { kind: 'words', prefix: '', words: [...names, ...more] }
}

/** Completes the flags that the line may still take. Flags that the command or a typed flag needs come first. */
function flagTarget(line: CommandLine, flags: Flags): CompletionTarget {
  const isNeeded = ([name, { ask }]: readonly [string, Flag<unknown>]) =>
    ask !== undefined || [...line.given.keys()].some((it) => flags[it]?.needs?.includes(name))
  const open = Object.entries<Flag<unknown>>(flags).filter(([name, flag]) => isOpen(line, flags, name, flag))
  const words = [...open.filter(isNeeded), ...open.filter((it) => !isNeeded(it))].map(([name, { summary }]) => ({
    value: `--${name}`,
    summary,
  }))
  return { kind: 'words', prefix: '', words }
}

function isOpen({ given, leaf }: CommandLine, flags: Flags, name: string, { repeatable }: Flag<unknown>): boolean {
  if (name === 'idempotency-key' && leaf?.idempotent !== true) return false
  if (conflictsOf(flags, name).some((it) => given.has(it))) return false
  return repeatable === true || !given.has(name)
}

function valueTarget(line: CommandLine, name: string, prefix: string, current: string): CompletionTarget {
  const flags = flagsOf(line)
  const flag = Object.hasOwn(flags, name) ? flags[name] : undefined
  if (flag?.value === undefined) return nothing
  const used = line.given.get(name) ?? []
  const choices = (flag.choices ?? []).filter((it) => !used.includes(it))
  return ofKind(kindOfFlag(flag), line, prefix, choices, current)
}

function ofKind(
  kind: ValueKind,
  line: CommandLine,
  prefix: string,
  choices: readonly string[],
  current: string,
): CompletionTarget {
  if (kind === 'free') return nothing
  if (kind === 'files' || kind === 'folders') return { kind, prefix }
  if (isLocal(kind)) return { kind: 'local', of: kind, prefix, line, current }
  if (kind !== 'choices' && kind !== 'fields') return { kind: 'ids', of: kind, prefix, line }
  const values = kind === 'fields' ? fieldsAfter(line, current.slice(prefix.length)) : choices
  return { kind: 'words', prefix, words: values.map((value) => ({ value, summary: '' })) }
}

/** Completes the last name in the comma-separated list of `--fields`. */
function fieldsAfter({ leaf }: CommandLine, typed: string): readonly string[] {
  const before = typed.slice(0, typed.lastIndexOf(',') + 1)
  const used = before.split(',')
  const names = leaf?.output === undefined ? [] : fieldNames(leaf.output)
  return names.filter((it) => !used.includes(it)).map((it) => `${before}${it}`)
}
