import pino, { type Logger } from 'pino'
import type { ServerOptions } from '../options.js'
import { StderrLog } from './stderr-log.js'

interface ServerLog {
  readonly log: Pick<Logger, 'error' | 'info' | 'isLevelEnabled' | 'warn'>
  /** Takes formatted lines. */
  readonly target: { write(line: string): void; end?(): Promise<void> }
}

/** Opens the log of a server. Import this module lazily: a server inside a test has no log. */
export function openLog({ logTo, logLevel = 'info', formatLog }: ServerOptions): ServerLog {
  const target = logTo ?? new StderrLog(formatLog)
  return { target, log: pino({ level: logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime }, target) }
}
