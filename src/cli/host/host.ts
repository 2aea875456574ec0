/** A candidate for completion or a prompt, with its summary. */
export interface Word {
  readonly value: string
  readonly summary: string
}

/** Names the mistake in an answer; undefined for a valid one. */
export type Check = (answer: string) => string | undefined

/** Questions to the user. Each resolves to undefined if the user presses Ctrl-C. */
export interface Questions {
  /** Asks for a text that is not empty, until it is valid. */
  text(message: string, check?: Check): Promise<string | undefined>
  secret(message: string): Promise<string | undefined>
  /** Asks a yes/no question; Enter alone means no. */
  confirm(message: string): Promise<boolean | undefined>
  key(message: string): Promise<true | undefined>
  /** Offers words to search; the user may also type another valid text. */
  search(message: string, words: readonly Word[], check?: Check): Promise<string | undefined>
  choose(message: string, choices: readonly string[]): Promise<string | undefined>
  chooseSome(message: string, choices: readonly string[]): Promise<readonly string[] | undefined>
}

/** An output stream for text and bytes; if it is a terminal, with the terminal's properties. */
export interface Out {
  write(text: string | Uint8Array): unknown
  /** Resolves when the reader has consumed all output or `gone` is aborted; absent if writes are synchronous. */
  settled?(): Promise<void>
  readonly isTTY?: boolean
  readonly columns?: number
  /** Aborted when the stream fails, for example because its reader closed the pipe; later writes are dropped. */
  readonly gone?: AbortSignal
}

/** Columns of a terminal, or 80 if it reports none: some pseudo-terminals report 0. */
export const columnsOf = ({ columns }: Pick<Out, 'columns'>): number => columns || 80

interface In extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean
}

/** Returns the minutes by which the local time is ahead of UTC at an instant in ms. */
export type Zone = (ms: number) => number

export const UTC: Zone = () => 0

/** The process as a command sees it; tests pass their own. */
export interface Host {
  readonly stdin: In
  readonly stdout: Out
  readonly stderr: Out
  readonly env: Readonly<Record<string, string | undefined>>
  /** Variables that scenarios may use; default: all of `env`. */
  readonly referable?: Host['env']
  readonly cwd: string
  readonly homeDir: string
  now(): number
  readonly zone: Zone
  newId(): string
  version(): string
  /** Reads a document of the npm package by its path in the package. */
  document(path: string): string
  /** Aborted by SIGINT or SIGTERM. */
  readonly signal: AbortSignal
  /** Says that these signals end the command as intended: it then exits with its own code, not that of the signal. */
  endsWith?(...signals: readonly ('SIGINT' | 'SIGTERM')[]): void
  /** Executable and script path that start voucherctl again, for a detached server. */
  readonly self: readonly [program: string, ...args: string[]]
  /** Loads the prompts, which need a terminal. */
  questions(): Promise<Questions>
  /** Shows a text in the pager of the terminal until it ends; false if there is no pager. */
  page?(text: string): Promise<boolean>
}
