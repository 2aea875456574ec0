import type { Failure } from '../failure.js'
import { fail } from '../failure.js'
import type { Host } from './host.js'
import { canAsk } from './host.js'
import { remember } from './scrub.js'

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

export type Asked<T> = { readonly ok: true; readonly value: T } | Failure

const interrupted = () => fail('ABORTED', 'Interrupted.')

/** Asks, or fails at once with exit code 3 where nobody can answer. */
export async function ask<T>(
  host: Host,
  noInput: boolean,
  missing: () => Failure,
  question: (questions: Questions) => Promise<T | undefined>,
): Promise<Asked<T>> {
  if (noInput || !canAsk(host)) return missing()
  const questions = await host.questions()
  const secret = async (message: string) => {
    const typed = await questions.secret(message)
    if (typed !== undefined) remember(host, typed)
    return typed
  }
  const value = await question({ ...questions, secret })
  return value === undefined ? interrupted() : { ok: true, value }
}
