import { shellWord } from '../../values/shell-word.js'
import type { LocalCode } from './local-failures.js'

export interface Failure {
  readonly ok: false
  readonly code: string
  readonly message: string
  /** HTTP status of the response; null if there is none. */
  readonly status: number | null
  readonly retryable: boolean
  readonly hint: string | null
  readonly requestId: string | null
  readonly details: Readonly<Record<string, unknown>>
  /** Lines for people between message and hint, such as the refused credential or the unknown id. */
  readonly about?: readonly string[]
}

export function fail(
  code: LocalCode,
  message: string,
  hint: string | null = null,
  details: Failure['details'] = {},
): Failure {
  return { ok: false, code, message, status: null, retryable: false, hint, requestId: null, details }
}

export const usage = (message: string, hint: string | null = null) => fail('USAGE', message, hint)

/** Rewrites each command of a text, which stands in backticks, so that the user can run it. */
export type Suggest = (text: string) => string

/**
 * Flags that a suggested command inherits from the command line to act on the same profile, server and folder, with the
 * commands that accept each flag (`test/cli/failures/failure.test.ts` compares them with the tree).
 */
export const inherited: Readonly<Record<string, RegExp>> = {
  profile: /^(?!help|explain|completion|commands|quickstart)/,
  'base-url': /^(?!help|explain|completion|commands|quickstart|server)/,
  data: /^(?:login|server (?:start|env|status|stop|logs|export|import))(?= |$)/,
  bot: /^templates (?:list|get|create|submit|apply|diff)(?= |$)/,
  inbox: /^webhook (?:listen|inbox \S+|replay|sign|verify)(?= |$)/,
}

/**
 * Completes suggested commands with the program as it was called (`npx voucherctl`) and with the inherited flags that
 * the command does not set.
 */
export function suggestionsOf(
  env: Readonly<Record<string, string | undefined>>,
  given: ReadonlyMap<string, readonly string[]>,
): Suggest {
  const program = programName(env)
  const complete = (command: string) => {
    const flags = Object.entries(inherited).flatMap(([name, accepts]) => {
      const text = given.get(name)?.at(-1)
      const isNamed = ` ${command} `.match(name === 'profile' ? / (?:--profile|-p)[ =]/ : ` --${name}[ =]`) !== null
      return text === undefined || isNamed || !accepts.test(command) ? [] : [optionOf(name, text)]
    })
    return [program, command, ...(command.endsWith('--help') ? [] : flags)].join(' ')
  }
  return (text) => text.replaceAll(/`voucherctl ([^`]+)`/g, (_, command: string) => `\`${complete(command)}\``)
}

/** npm sets the variable for npx and for a script; both may lack voucherctl on the PATH of the user's shell. */
export const programName = (env: Readonly<Record<string, string | undefined>>) =>
  env.npm_command === undefined ? 'voucherctl' : 'npx voucherctl'

/** A suggested command in backticks. Values are quoted for a shell, since a server may send any text as an id. */
export const suggested = (parts: TemplateStringsArray, ...values: readonly string[]) =>
  `\`voucherctl ${String.raw({ raw: parts.raw }, ...values.map(shellWord))}\``

export const optionOf = (name: string, value: string) =>
  value.startsWith('-') ? `--${name}=${shellWord(value)}` : `--${name} ${shellWord(value)}`
