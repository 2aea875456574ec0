import { type Failure, fail, usage } from '../failure.js'
import type { Flag, ParseResult } from '../flags/flags.js'
import type { Context, Ok } from './context.js'
import type { Input, Leaf } from './leaf.js'

type InputResult = { readonly ok: true; readonly input: Input<Record<string, Flag<unknown>>, undefined> } | Failure

const isMissing = (value: unknown) => value === undefined || (Array.isArray(value) && value.length === 0)

/** Asks for missing required values; without a terminal it fails with exit code 3 and names all of them. */
export async function askMissing(
  leaf: Leaf,
  given: Readonly<Record<string, unknown>>,
  operands: readonly string[],
  context: Context,
): Promise<InputResult> {
  const [positional] = operands
  const second = leaf.second === undefined ? undefined : operands[1]
  const rest = leaf.positional?.several ? operands.slice(1) : []
  const flags = Object.entries(leaf.flags ?? {}).filter(
    ([name, flag]) => flag.ask !== undefined && isMissing(given[name]) && isMissing(given[flag.unless ?? name]),
  )
  const operand = leaf.positional?.ask !== undefined && positional === undefined ? leaf.positional : undefined
  const another = second === undefined ? leaf.second : undefined
  const operandNames = [operand, another].flatMap((it) => (it === undefined ? [] : [it.name]))
  const names = [...operandNames, ...flags.map(([name]) => `--${name}`)]
  const inWords = flags.map(([name, { unless }]) => (unless === undefined ? `--${name}` : `--${name} or --${unless}`))
  const refusal = () => required(names, [...operandNames, ...inWords])
  const values: Record<string, unknown> = { ...given }
  let value = positional
  if (positional === '' || rest.includes(''))
    return usage(`${leaf.positional?.name ?? 'The argument'} must not be empty.`)
  if (operand?.ask !== undefined) {
    const message = operand.ask
    const asked = await context.ask(refusal, (questions) => questions.text(message))
    if (!asked.ok) return asked
    value = asked.value.trim()
  }
  let nextValue = second ?? ''
  if (another !== undefined) {
    const asked = await context.ask(refusal, (questions) => questions.text(another.ask))
    if (!asked.ok) return asked
    nextValue = asked.value.trim()
  }
  for (const [name, flag] of flags) {
    const asked = await askFlag(flag, refusal, context)
    if (!asked.ok) return asked
    const read: ParseResult<unknown> = flag.read(asked.value)
    if (!read.ok) return usage(`--${name} ${read.message}.`)
    values[name] = read.value
  }
  return { ok: true, input: { flags: values, positional: value as undefined, second: nextValue, rest } }
}

function askFlag(
  { ask: message = '', choices, repeatable }: Flag<unknown>,
  refusal: () => Failure,
  context: Context,
): Promise<Ok<readonly string[]> | Failure> {
  return context.ask(refusal, async (questions) => {
    if (choices !== undefined && repeatable) return questions.chooseSome(message, choices)
    const text = await (choices === undefined ? questions.text(message) : questions.choose(message, choices))
    return text === undefined ? undefined : [text]
  })
}

export function required(names: readonly string[], inWords = names): Failure {
  return fail(
    'INPUT_REQUIRED',
    `Missing: ${inWords.join(', ')}.`,
    names.length > 1
      ? 'Give them on the command line; they are asked for on a terminal only.'
      : 'Give it on the command line; it is asked for on a terminal only.',
    { missing: names },
  )
}
