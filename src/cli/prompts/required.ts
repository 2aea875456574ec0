import type { Context } from '../command/context.js'
import type { Input, Leaf, Positional } from '../command/leaf.js'
import { type Failure, fail, usage } from '../failures/failure.js'
import type { Flag, ParseResult } from '../flags/flags.js'

type InputResult = { readonly ok: true; readonly input: Input<Record<string, Flag<unknown>>, undefined> } | Failure

const isMissing = (value: unknown) => value === undefined || (Array.isArray(value) && value.length === 0)

/** Asks for missing required values. Without a terminal it fails with exit code 3 and names all missing values. */
export async function askMissing(
  leaf: Leaf,
  given: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<InputResult> {
  const { operands } = context.line
  const several = leaf.positional?.several === true
  if (operands[0] === '' || (several && operands.includes('')))
    return usage(`${leaf.positional?.name ?? 'The argument'} must not be empty.`)
  const isFound = ({ ownerOf }: Flag<unknown>) => ownerOf !== undefined && operands[0] !== undefined
  const flags = Object.entries(leaf.flags ?? {}).filter(
    ([name, flag]) =>
      flag.ask !== undefined && isMissing(given[name]) && isMissing(given[flag.unless ?? name]) && !isFound(flag),
  )
  const missing = [leaf.positional, leaf.second].flatMap((positional, at) =>
    positional !== undefined && isRequiredPositional(positional) && operands[at] === undefined
      ? [{ operand: positional, at }]
      : [],
  )
  const values: Record<string, unknown> = { ...given }
  if (missing.length > 0 || flags.length > 0) {
    const failure = await askEach(missing, flags, values, context)
    if (failure !== undefined) return failure
  }
  const unowned = await findOwners(leaf, values, context)
  if (unowned !== undefined) return unowned
  const [positional, second] = operands
  const rest = several ? operands.slice(1) : []
  const inSecond = leaf.second === undefined ? '' : (second ?? '')
  return { ok: true, input: { flags: values, positional: positional as undefined, second: inSecond, rest } }
}

/** Finds the owner of the record in the argument for each flag that names an owner, or asks the user. */
async function findOwners(leaf: Leaf, values: Record<string, unknown>, context: Context): Promise<Failure | undefined> {
  const [id = ''] = context.line.operands
  for (const [name, flag] of Object.entries(leaf.flags ?? {})) {
    if (flag.ownerOf === undefined || !isMissing(values[name])) continue
    const { findOwner } = await import('../command/find-owner.js')
    const found = await findOwner(context, flag.ownerOf, id)
    if (found.ok) values[name] = found.value
    else if (found.code !== 'INPUT_REQUIRED') return found
    else {
      const failure = await askEach([], [[name, flag]], values, context, found)
      if (failure !== undefined) return failure
    }
  }
  return undefined
}

type RequiredPositional = Positional & { readonly ask: string }
const isRequiredPositional = (it: Positional): it is RequiredPositional => it.ask !== undefined

/** Asks for each missing value and adds the values of flags to `values`. @param refused the failure without a terminal */
async function askEach(
  operands: readonly { readonly operand: RequiredPositional; readonly at: number }[],
  flags: readonly [name: string, flag: Flag<unknown>][],
  values: Record<string, unknown>,
  context: Context,
  refused?: Failure,
): Promise<Failure | undefined> {
  const names = operands.map(({ operand }) => operand.name)
  const needed = flags.filter(([, { ownerOf }]) => ownerOf === undefined)
  const inWords = needed.map(([name, { unless }]) => (unless === undefined ? `--${name}` : `--${name} or --${unless}`))
  const refusal = () => refused ?? required([...names, ...needed.map(([name]) => `--${name}`)], [...names, ...inWords])
  const { askFor, flagOfList, questionOfFlag, questionOfOperand } = await import('./prompts.js')
  const ofOperands = operands.map(({ operand, at }) => questionOfOperand(at, operand, context.host))
  const ofFlags = flags.map(([name, flag]) => questionOfFlag(name, flag, context.host))
  // The list of ids for an argument may need the value of a flag, so ask for that flag first.
  const inPath = ofOperands.map(({ kind }) => flagOfList[kind])
  const first = ofFlags.filter(({ slot }) => inPath.includes(String(slot)))
  for (const question of [...first, ...ofOperands, ...ofFlags.filter((it) => !first.includes(it))]) {
    const asked = await askFor(context, question, refusal)
    if (!asked.ok) return asked
    const flag = flags.find(([name]) => name === question.slot)?.[1]
    if (flag === undefined) continue
    const read: ParseResult<unknown> = flag.read(asked.value)
    if (!read.ok) return usage(`--${question.slot} ${read.message}.`)
    values[question.slot] = read.value
  }
  return undefined
}

export function required(names: readonly string[], inWords = names): Failure {
  return fail(
    'INPUT_REQUIRED',
    `Missing: ${inWords.join(', ')}.`,
    `Pass ${names.length > 1 ? 'them' : 'it'} on the command line; prompts need an interactive terminal.`,
    { missing: names },
  )
}
