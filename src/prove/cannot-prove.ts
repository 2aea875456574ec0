import { redactAll } from './leaks.js'
import type { Exit } from './process.js'

/** Ends a run that cannot prove anything; message and hint are for people. */
export class CannotProve extends Error {
  override readonly name = 'CannotProve'
  constructor(
    message: string,
    readonly hint: string,
  ) {
    super(message)
  }
}

/** Lines of output that an error shows. */
const SHOWN_LINES = 15

/** Says how a program ended. */
export function endingOf({ code, trouble }: Exit): string {
  if (trouble?.kind === 'not_started') return `the error ${trouble.code}: it could not be started`
  if (trouble?.kind === 'too_much_output') return 'more than 16 MiB of output'
  const ending = code === null ? 'a signal' : `exit code ${code}`
  return trouble?.kind === 'daemon' ? `${ending}, and left running: ${trouble.processes}` : ending
}

/** The last lines that a program printed, without secrets. */
export function shownOutput({ stdout, stderr }: Exit, secrets: Readonly<Record<string, string>>): string {
  const lines = redactAll(`${stdout}\n${stderr}`, secrets)
    .split('\n')
    .filter((it) => it.trim() !== '')
  return lines.length === 0 ? ' It printed nothing.' : ` It printed:\n${lines.slice(-SHOWN_LINES).join('\n')}`
}
