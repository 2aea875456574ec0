import type { Host, Out } from '../host/host.js'

/** Faster calls show no spinner and do not load it. */
const DELAY_MS = 300

/** The spinner needs the cursor methods of a terminal stream. */
const isTerminal = (stream: Out): stream is NodeJS.WriteStream => stream.isTTY === true && 'cursorTo' in stream

/** Shows a spinner on stderr during the work, only on a terminal. */
export async function withProgress<T>(host: Host, text: string, work: Promise<T>): Promise<T> {
  const stream = host.stderr
  if (!isTerminal(stream) || host.env.TERM === 'dumb') return work
  let spinner: { stop(): unknown } | undefined
  let done = false
  const timer = setTimeout(async () => {
    const { ora } = await import('./spinner.js')
    // Leave stdin unchanged, so that Ctrl-C reaches the process.
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
