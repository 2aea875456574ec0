import { expect, test } from 'vitest'
import { wordsOf } from '../../src/prove/words.js'

const lines: readonly (readonly [about: string, line: string, words: string[] | undefined])[] = [
  ['spaces of any kind', '  node\tshop.js \n --port 80 ', ['node', 'shop.js', '--port', '80']],
  ['double quotes', 'node "my shop.js"', ['node', 'my shop.js']],
  ['single quotes', "sh -c 'exit 1'", ['sh', '-c', 'exit 1']],
  ['quotes inside a word', `--name="a b"'c d'e`, ['--name=a bc de']],
  ['an empty word in quotes', `run '' ""`, ['run', '', '']],
  ['an escaped space', 'my\\ shop.js', ['my shop.js']],
  ['an escaped quote in double quotes', '"a \\" b"', ['a " b']],
  ['a backslash in single quotes, which stays', "'a\\b'", ['a\\b']],
  ['the other quote in quotes, which stays', `"it's" '"'`, ["it's", '"']],
  ['what a shell would expand, which stays', '*.js $HOME | ~', ['*.js', '$HOME', '|', '~']],
  ['nothing', '', []],
  ['spaces only', ' \t ', []],
  ['an open double quote', 'node "shop.js', undefined],
  ['an open single quote', "rm 'shop.db", undefined],
]

test.each(lines)('a command line with %s has the words of a shell', (_about, line, words) => {
  expect(wordsOf(line)).toEqual(words)
})
