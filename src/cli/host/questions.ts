// Named imports keep the editor prompt out of the bundle: it is four times as large as all other prompts together.
import { createPrompt, useKeypress } from '@inquirer/core'
import { checkbox, confirm, input, password, select } from '@inquirer/prompts'
import type { Questions } from './host.js'

/** Asks questions on a terminal, written to stderr. Load this module on demand: loading takes longer than a call. */
export function terminalQuestions(signal: AbortSignal): Questions {
  const isFilled = (it: string) => it.trim() !== '' || 'A value is needed'
  const toChoices = (choices: readonly string[]) => choices.map((value) => ({ name: value, value }))
  return {
    text: (message) => prompt((on) => input({ message, validate: isFilled }, on), signal),
    // Disable the key with which a user could reveal the input.
    secret: (message) =>
      prompt((on) => password({ message, mask: false, toggleMask: false, validate: isFilled }, on), signal),
    confirm: (message) => prompt((on) => confirm({ message, default: false }, on), signal),
    key: (message) => prompt((on) => anyKey({ message }, { ...on, clearPromptOnDone: true }), signal),
    choose: (message, choices) => prompt((on) => select({ message, choices: toChoices(choices) }, on), signal),
    chooseSome: (message, choices) =>
      prompt((on) => checkbox({ message, choices: toChoices(choices), required: true }, on), signal),
  }
}

const anyKey = createPrompt<true, { readonly message: string }>(({ message }, done) => {
  useKeypress(() => done(true))
  return message
})

/** Names of the errors with which prompts reject after Ctrl-C, Ctrl-D or a signal. */
const CANCELLATIONS = ['ExitPromptError', 'AbortPromptError', 'CancelPromptError']

interface Terminal {
  readonly output: NodeJS.WriteStream
  readonly signal: AbortSignal
}

async function prompt<T>(ask: (on: Terminal) => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const left = new AbortController()
  const leave = () => left.abort()
  // After Ctrl-D the prompt stops reading and would stay pending forever (@inquirer/core 11).
  process.stdin.once('pause', leave)
  try {
    return await ask({ output: process.stderr, signal: AbortSignal.any([signal, left.signal]) })
  } catch (error) {
    if (error instanceof Error && CANCELLATIONS.includes(error.name)) return undefined
    throw error
  } finally {
    process.stdin.off('pause', leave)
  }
}
