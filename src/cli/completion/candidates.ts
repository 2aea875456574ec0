import { durationMs } from '../../contract/values/duration.js'
import { isShell, shells } from '../commands/completion/shells.js'
import type { Host } from '../host/host.js'
import { wordsOf } from '../records/words.js'
import { completionTargetAt } from './target.js'

/** Milliseconds from process start until completion gives up: the user waits after Tab (DECISIONS.md#completion). */
const CAP_MS = 150
const CAP_VARIABLE = 'VOUCHERCTL_COMPLETION_TIMEOUT'

const SUMMARY_MAX = 60

/**
 * Completes an unfinished command line for the script of a shell. The first line of the result is `words`, `files` or
 * `folders`; after `words` follows one candidate per line, each with a tab and its summary.
 * @param args the name of the shell, and the command line as the script passes it
 * @param elapsedMs returns the milliseconds since the process started
 * @returns an empty text on any failure, because completion must not print errors
 */
export async function candidates(args: readonly string[], host: Host, elapsedMs: () => number): Promise<string> {
  const [name = '', ...rest] = args
  if (!isShell(name)) return ''
  const shell = shells[name]
  try {
    const typed = shell.read(rest, host.env)
    if (typed === 'redirection') return 'files\n'
    const target = await completionTargetAt(typed.before, typed.current)
    if (target.kind === 'files' || target.kind === 'folders') return `${target.kind}\n`
    const capMs = durationMs(host.env[CAP_VARIABLE] ?? '') ?? CAP_MS
    const words =
      target.kind === 'words'
        ? target.words
        : ((await wordsOf(target, host, { remainingMs: () => capMs - elapsedMs() })) ?? [])
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
