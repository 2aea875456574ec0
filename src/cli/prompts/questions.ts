// Named imports keep the editor prompt out of the bundle: it is four times as large as all other prompts together.
import { createPrompt, useKeypress } from '@inquirer/core'
import { checkbox, confirm, input, password, search, select } from '@inquirer/prompts'
import { columnsOf, type Questions, type Word } from '../host/host.js'
import { cut, widthOf } from '../output/text.js'

const NO_VALUE = 'A value is needed.'
const PAGE_SIZE = 10
const NARROWEST = 12

/** Finds the words that contain a text. Adds the text itself, because a list may be incomplete. */
export function matching(words: readonly Word[], typed: string, columns: number) {
  // Leave room for the id, the pointer and the gap.
  const room = columns - Math.max(...words.map(({ value }) => value.length)) - 5
  const shown = words.map(({ summary }) => cut(summary, Math.max(room, NARROWEST)))
  const width = Math.max(...shown.map(widthOf))
  const found = words.flatMap(({ value, summary }, i) => {
    const name = width === 0 ? value : `${shown[i]}${' '.repeat(width - widthOf(shown[i] ?? ''))}  ${value}`
    const isFound = [name, `${summary} ${value}`].some((it) => it.toLowerCase().includes(typed.toLowerCase()))
    return isFound ? [{ value, short: value, name }] : []
  })
  const isKnown = typed === '' || words.some(({ value }) => value === typed)
  return isKnown ? found : [...found, { value: typed, name: typed, description: 'Use this text, which is not listed.' }]
}

/** Asks questions on a terminal, written to stderr. Load this module on demand: loading takes longer than a call. */
export function terminalQuestions(signal: AbortSignal): Questions {
  const isFilled = (it: string) => it.trim() !== '' || NO_VALUE
  const toChoices = (choices: readonly string[]) => choices.map((value) => ({ name: value, value }))
  return {
    text: (message, check) =>
      prompt(
        (on) => input({ message, validate: (it) => (it.trim() === '' ? NO_VALUE : (check?.(it) ?? true)) }, on),
        signal,
      ),
    // Disable the key with which a user could reveal the input.
    secret: (message) =>
      prompt((on) => password({ message, mask: false, toggleMask: false, validate: isFilled }, on), signal),
    confirm: (message) => prompt((on) => confirm({ message, default: false }, on), signal),
    key: (message) => prompt((on) => anyKey({ message }, { ...on, clearPromptOnDone: true }), signal),
    search: (message, words, check) => {
      let shown: ReturnType<typeof matching> = []
      const source = (typed = '') => {
        shown = matching(words, typed.trim(), columnsOf(process.stderr))
        return shown
      }
      // A pasted text with Enter arrives before its list, so Enter would choose a word of the previous list.
      const validate = async (it: string) => {
        await new Promise((resolve) => setImmediate(resolve))
        return shown.some(({ value }) => value === it) && (check?.(it) ?? true)
      }
      return prompt((on) => search({ message, source, validate, pageSize: PAGE_SIZE }, on), signal)
    },
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
