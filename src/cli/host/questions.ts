// Named imports keep the editor prompt out of the bundle, which is four times as large as the others together.
import { checkbox, confirm, input, password, select } from '@inquirer/prompts'
import type { Questions } from './host.js'

/** Prompts on the terminal, shown on stderr. Load this module on demand: it costs more than a whole call. */
export function terminalQuestions(signal: AbortSignal): Questions {
  const isFilled = (it: string) => it.trim() !== '' || 'A value is needed'
  const toChoices = (choices: readonly string[]) => choices.map((value) => ({ name: value, value }))
  return {
    text: (message) => answered((on) => input({ message, validate: isFilled }, on), signal),
    // Without the key that reveals the input.
    secret: (message) =>
      answered((on) => password({ message, mask: false, toggleMask: false, validate: isFilled }, on), signal),
    confirm: (message) => answered((on) => confirm({ message, default: false }, on), signal),
    choose: (message, choices) => answered((on) => select({ message, choices: toChoices(choices) }, on), signal),
    chooseSome: (message, choices) =>
      answered((on) => checkbox({ message, choices: toChoices(choices), required: true }, on), signal),
  }
}

/** The library rejects with these when the person presses Ctrl-C or Ctrl-D, or a signal arrives. */
const givenUp = ['ExitPromptError', 'AbortPromptError', 'CancelPromptError']

interface Terminal {
  readonly output: NodeJS.WriteStream
  readonly signal: AbortSignal
}

async function answered<T>(ask: (on: Terminal) => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const left = new AbortController()
  const leave = () => left.abort()
  // With Ctrl-D the prompt stops reading and would never settle (@inquirer/core 11).
  process.stdin.once('pause', leave)
  try {
    return await ask({ output: process.stderr, signal: AbortSignal.any([signal, left.signal]) })
  } catch (error) {
    if (error instanceof Error && givenUp.includes(error.name)) return undefined
    throw error
  } finally {
    process.stdin.off('pause', leave)
  }
}
