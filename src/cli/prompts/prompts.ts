import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Context, Ok } from '../command/context.js'
import type { Positional } from '../command/leaf.js'
import type { Failure } from '../failures/failure.js'
import type { Flag } from '../flags/flags.js'
import type { Check, Word } from '../host/host.js'
import { withProgress } from '../output/progress.js'
import type { IdKind } from '../records/live.js'
import { isLocal, kindOfFlag, kindOfPositional, type ValueKind, wordsOf } from '../records/words.js'

/** Milliseconds that a prompt waits for a list of values; later the user must type the value. */
const LIST_MS = 5_000
/** Maximum pages of 100 records that a prompt offers. */
const PAGES_MAX = 10

/** Question for a missing value of a command (rules/cli.md#prompts). */
interface Question {
  readonly message: string
  /** Name of the flag, or index of the positional argument, to which the answer belongs. */
  readonly slot: string | number
  readonly kind: ValueKind
  readonly choices?: readonly string[] | undefined
  /** Words that the prompt offers; other words are valid too. */
  readonly suggestions?: readonly string[] | undefined
  readonly repeatable?: boolean
  readonly check?: Check
}

export function questionOfFlag(name: string, flag: Flag<unknown>, host: Context['host']): Question {
  const { ask: message = '', choices, repeatable = false } = flag
  const kind = kindOfFlag(flag)
  const check: Check = (answer) => {
    const read = flag.read([answer])
    if (!read.ok) return `--${name} ${read.message}.`
    return flag.value === 'FILE|-' ? missingFile(host, answer) : undefined
  }
  return { message, slot: name, kind, choices, repeatable, check }
}

export function questionOfOperand(at: number, operand: Positional & { ask: string }, host: Context['host']): Question {
  const kind = kindOfPositional(operand)
  const check: Check = (answer) => (kind === 'files' ? missingFile(host, answer) : undefined)
  return { message: operand.ask, slot: at, kind, choices: operand.choices, check }
}

/** Checks a file that the command reads; `-` is standard input. */
function missingFile({ cwd }: Context['host'], path: string): string | undefined {
  return path === '-' || statSync(resolve(cwd, path), { throwIfNoEntry: false })?.isFile()
    ? undefined
    : `There is no file ${path}.`
}

/** Asks for a value, checks it, and adds it to the command line. @param missing the failure without a terminal */
export async function askFor(
  context: Context,
  question: Question,
  missing: () => Failure,
): Promise<Ok<readonly string[]> | Failure> {
  const { message, slot, choices, suggestions = [], check } = question
  const asked = await context.ask<readonly string[]>(missing, async (questions) => {
    if (choices !== undefined && question.repeatable) return questions.chooseSome(message, choices)
    if (choices !== undefined) return listOf(await questions.choose(message, choices))
    const words = suggestions.length > 0 ? suggestions.map(wordOf) : ((await offered(context, question.kind)) ?? [])
    const text = await (words.length > 0
      ? questions.search(message, words, check)
      : questions.text(message, check && ((it) => check(it.trim()))))
    return listOf(text?.trim())
  })
  if (asked.ok) context.line.answer(slot, asked.value)
  return asked
}

const listOf = (text: string | undefined) => (text === undefined ? undefined : [text])
const wordOf = (value: string): Word => ({ value, summary: '' })

/**
 * Finds the values that a prompt offers, the same as in completion, and says if the list is empty. Undefined if they
 * are unknown or need a call in a dry run.
 */
async function offered(
  { host, line, dryRun, output, baseUrl }: Context,
  kind: ValueKind,
): Promise<readonly Word[] | undefined> {
  if (kind === 'choices' || kind === 'files' || kind === 'folders' || kind === 'fields' || kind === 'free')
    return undefined
  // A route contains placeholders, which the user must replace.
  if (kind === 'routes' || (dryRun && !isLocal(kind))) return undefined
  const target = isLocal(kind)
    ? { kind: 'local' as const, of: kind, line, current: '' }
    : { kind: 'ids' as const, of: kind, line }
  const looking = wordsOf(target, host, { waitMs: LIST_MS, pages: PAGES_MAX })
  const progress = `Looking for ${isLocal(kind) ? 'values' : kind} …`
  const words = await withProgress(host, progress, looking).catch(() => undefined)
  if (words?.length === 0) {
    const server = baseUrl()
    const where = isLocal(kind) || !server.ok ? '' : ` on ${server.value}`
    output.tell(`The list is empty: there are no ${nouns[kind] ?? kind} to choose from${where}.`)
  }
  return words
}

const nouns: Readonly<Partial<Record<ValueKind, string>>> = { apps: 'applications', recorded: 'recorded deliveries' }

/** The flag that completes the path for listing ids of a kind. */
export const flagOfList: Readonly<Partial<Record<ValueKind, string>>> = {
  tokens: 'app',
  deliveries: 'bot',
} satisfies Partial<Record<IdKind, string>>
