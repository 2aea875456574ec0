import type { Host, Out } from '../host/host.js'

/** Calls that are over by then leave no trace, and do not pay for the spinner. */
const DELAY_MS = 300

/** The spinner moves the cursor, which only the stream of a terminal can do. */
const isTerminal = (stream: Out): stream is NodeJS.WriteStream => stream.isTTY === true && 'cursorTo' in stream

/** Shows a spinner on stderr while the work goes on; only on a terminal. */
export async function withProgress<T>(host: Host, text: string, work: Promise<T>): Promise<T> {
  const stream = host.stderr
  if (!isTerminal(stream) || host.env.TERM === 'dumb') return work
  let spinner: { stop(): unknown } | undefined
  let done = false
  const timer = setTimeout(async () => {
    const { ora } = await import('./spinner.js')
    // stdin is left alone: pressing Ctrl-C must reach the process.
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
