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

const withoutServer = ['help', 'explain', 'completion', 'commands', 'quickstart']

/**
 * Flags that a suggested command inherits from the command line to act on the same profile, server and folder, with the
 * names of groups and commands that inherit the flag, or that do not (`test/cli/failures/failure.test.ts` compares the
 * names with the tree).
 */
const inherited: Readonly<Record<string, { readonly by: readonly string[] } | { readonly notBy: readonly string[] }>> =
  {
    profile: { notBy: withoutServer },
    'base-url': { notBy: [...withoutServer, 'server'] },
    data: { by: ['login', ...'start env status stop logs keys export import'.split(' ').map((it) => `server ${it}`)] },
    bot: { by: ['list', 'get', 'create', 'submit', 'apply', 'diff'].map((it) => `templates ${it}`) },
    inbox: { by: ['listen', 'inbox', 'replay', 'sign', 'verify'].map((it) => `webhook ${it}`) },
  }

/** True if a command, which its arguments may follow, inherits a flag. */
export function inherits(flag: string, command: string): boolean {
  const rule = inherited[flag]
  const isAmong = (names: readonly string[]) => names.some((it) => `${command} `.startsWith(`${it} `))
  return rule !== undefined && ('by' in rule ? isAmong(rule.by) : !isAmong(rule.notBy))
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
    const flags = Object.keys(inherited).flatMap((name) => {
      const text = given.get(name)?.at(-1)
      const isNamed = ` ${command} `.match(name === 'profile' ? / (?:--profile|-p)[ =]/ : ` --${name}[ =]`) !== null
      return text === undefined || isNamed || !inherits(name, command) ? [] : [optionOf(name, text)]
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
