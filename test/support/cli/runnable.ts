import { bundle } from './built-cli.js'

// From the bundle, because importing the sources of all commands takes seconds.
const { CommandLine, readFlags, readGlobals } = bundle

/** Splits a line as bash does, with the quotes that suggestions contain. */
export const wordsOf = (line: string) =>
  [...line.matchAll(/(?:[^\s'"\\]|\\.|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"|\\(.)/g, (_, single, double, escaped) => single ?? double ?? escaped),
  )

/** A name that stands for a value, such as NAME, or words that were left out. */
const PLACEHOLDER = /^(?:<.*>|(?!(?:GET|POST|PUT|PATCH|DELETE|HEAD)$)[A-Z][A-Z_]+)$|…/

/** Why a suggested command cannot be run as it is printed, or undefined. */
async function faultOf(command: string): Promise<string | undefined> {
  const words = wordsOf(command)
  const placeholder = words.find((it) => PLACEHOLDER.test(it))
  if (placeholder !== undefined) return `${placeholder} stands for a value`
  const line = new CommandLine()
  const refused = await line.parse(words.slice(words.indexOf('voucherctl') + 1))
  const failure = refused ?? readGlobals(line.given).failure ?? readFlags(line.leaf?.flags ?? {}, line.given).failure
  return failure?.message
}

/** Commands of a text that stand in backticks and cannot be run as they are printed, each with its fault. */
export async function unrunnable(text: string): Promise<string[]> {
  const commands = [...text.matchAll(/`((?:npx )?voucherctl [^`]*)`/g)].map(([, command = '']) => command)
  const faults = await Promise.all(commands.map(async (it) => ({ it, fault: await faultOf(it) })))
  return faults.flatMap(({ it, fault }) => (fault === undefined ? [] : [`${it}: ${fault}`]))
}
