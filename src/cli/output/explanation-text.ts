import type { Explanation } from '../failures/explanations.js'
import { wrap } from './text.js'

/** Formats an explanation for a person. */
export function explanationText({ code, meaning, causes, fix, status, exit, retryable }: Explanation): string {
  const from = status === null ? 'Found by voucherctl itself' : `HTTP status ${status}`
  const again = retryable ? 'voucherctl retries such calls automatically' : 'repeating it unchanged does not help'
  const retries = status === null ? '' : `; ${again}`
  const end = `${from}, exit code ${exit}${retries}.`
  const why = causes === null ? [] : [`Causes: ${causes}`]
  const lines = [`${code}: ${meaning}`, '', ...why, `What to do: ${fix}`, '', end]
  // Keep each command on one line, so that it can be copied.
  const unbroken = lines.map((it) => it.replaceAll(/`[^`]+`/g, (command) => command.replaceAll(' ', '\u00a0')))
  return unbroken
    .flatMap((it) => wrap(it, 80, '  '))
    .join('\n')
    .replaceAll('\u00a0', ' ')
}
