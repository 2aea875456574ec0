import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bundle } from '../support/cli/built-cli.js'
import { wordsOf } from '../support/cli/runnable.js'

/** Matches a command that a text suggests, in backticks that may be escaped. */
const SUGGESTED = /\\?`voucherctl ([^`]+?)\\?`|suggested`([^`]+)`/g
const COMMENT = /^\s*(?:\/\/|\/?\*)/
/** Commands whose name the program fills in, or that stand for any command, and a line that goes into a file. */
const UNKNOWN = /^\$\{|^\(|^COMMAND|^help TOPIC|^(?:completion|server|vouchers) \$\{|>>/

const suggestedIn = (file: string) =>
  readFileSync(join('src', file), 'utf8')
    .split('\n')
    .filter((line) => !COMMENT.test(line))
    .flatMap((line) => [...line.matchAll(SUGGESTED)].map(([, plain, tagged]) => String(plain ?? tagged)))
    .filter((command) => !UNKNOWN.test(command))

/** Replaces values that the program fills in by a word; text that it adds to a word or flag is left out. */
const withValues = (command: string) => command.replaceAll(/ \$?\{[^}]*\}/g, ' VALUE').replaceAll(/\$?\{[^}]*\}/g, '')

test('every command that a text of the program suggests exists, with its flags', async () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((it) => /\.tsx?$/.test(it))
  const suggestions = files.flatMap((file) => suggestedIn(file).map((command) => ({ file, command })))
  expect(suggestions.length).toBeGreaterThan(150)
  const wrong: object[] = []
  for (const { file, command } of suggestions) {
    const failure = await new bundle.CommandLine().parse(wordsOf(withValues(command)))
    if (failure !== undefined) wrong.push({ file, command, message: failure.message })
  }
  expect(wrong).toEqual([])
})
