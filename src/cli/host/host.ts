/** The questions that a person can be asked. Each answers undefined when the person gives up with Ctrl-C. */
export interface Questions {
  text(message: string): Promise<string | undefined>
  /** Nothing of the answer is shown. */
  secret(message: string): Promise<string | undefined>
  /** Asks a yes/no question; Enter alone means no. */
  confirm(message: string): Promise<boolean | undefined>
  choose(message: string, choices: readonly string[]): Promise<string | undefined>
  chooseSome(message: string, choices: readonly string[]): Promise<readonly string[] | undefined>
}

/** A stream that text, or the bytes of a file, are written to, and what is known of the terminal behind it. */
export interface Out {
  write(text: string | Uint8Array): unknown
  /** Waits until what was written is taken, or the stream is `gone`; absent where that is at once. */
  settled?(): Promise<void>
  readonly isTTY?: boolean
  readonly columns?: number
  /** Aborted when it takes no more text, as when its reader has gone. What is written then is dropped. */
  readonly gone?: AbortSignal
}

/** Standard input: read to its end, or asked on a terminal. */
export interface In extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean
}

/** What a command gets from the process that it runs in; tests hand in their own. */
export interface Host {
  readonly stdin: In
  readonly stdout: Out
  readonly stderr: Out
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly homeDir: string
  /** Milliseconds since 1970. */
  now(): number
  newId(): string
  /** Of the package. */
  version(): string
  /** Aborted by SIGINT or SIGTERM. */
  readonly signal: AbortSignal
  /** The program and script that start this command line again, for a detached server. */
  readonly self: readonly [program: string, ...args: string[]]
  /** Loads the prompts; called only on a terminal. */
  questions(): Promise<Questions>
}
