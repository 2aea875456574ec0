import type { Host, Out } from '../host/host.js'

/** Milliseconds before the spinner is loaded and shown; most calls are faster. */
const DELAY_MS = 300

/** True if a stream is a terminal with cursor control and a width: ora clears lines without end if the width is 0. */
const isTerminal = (stream: Out): stream is NodeJS.WriteStream =>
  stream.isTTY === true && 'cursorTo' in stream && stream.columns !== 0

/** Shows a spinner on stderr while work is pending, if stderr is a terminal. */
export async function withProgress<T>(host: Host, text: string, work: Promise<T>): Promise<T> {
  let spinner: { stop(): unknown } | undefined
  let done = false
  const timer = setTimeout(async () => {
    // Open stderr only now, because a fast call need not open it at all.
    const stream = host.stderr
    if (!isTerminal(stream) || host.env.TERM === 'dumb') return
    const { ora } = await import('./spinner.js')
    // The spinner must not change stdin: Ctrl-C would no longer reach the process.
    if (!done) spinner = ora({ text, stream, discardStdin: false }).start()
  }, DELAY_MS)
  try {
    return await work
  } finally {
    done = true
    clearTimeout(timer)
    spinner?.stop()
  }
}
