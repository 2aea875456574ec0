import type { Failure } from '../failure.js'
import { fail } from '../failure.js'
import type { Host, Questions } from './host.js'
import { canAsk } from './host.js'
import { remember } from './scrub.js'

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
