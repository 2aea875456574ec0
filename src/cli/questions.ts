import type { Questions } from './prompt.js'

/** Prompts on the terminal, shown on stderr. The library is loaded here: it costs more than a whole call. */
export async function terminalQuestions(signal: AbortSignal): Promise<Questions> {
  const { checkbox, input, password, select } = await import('@inquirer/prompts')
  const context = { output: process.stderr, signal }
  const isFilled = (it: string) => it.trim() !== '' || 'A value is needed'
  const toChoices = (choices: readonly string[]) => choices.map((value) => ({ name: value, value }))
  return {
    text: (message) => answered(input({ message, validate: isFilled }, context)),
    secret: (message) => answered(password({ message, mask: false, validate: isFilled }, context)),
    choose: (message, choices) => answered(select({ message, choices: toChoices(choices) }, context)),
    chooseSome: (message, choices) =>
      answered(checkbox({ message, choices: toChoices(choices), required: true }, context)),
  }
}

/** The library rejects with these when the person presses Ctrl-C or a signal arrives. */
const givenUp = ['ExitPromptError', 'AbortPromptError', 'CancelPromptError']

async function answered<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Error && givenUp.includes(error.name)) return undefined
    throw error
  }
}
