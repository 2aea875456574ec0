import { expect, test } from 'vitest'
import * as yaml from 'yaml'
import { YamlDocument } from '../../src/files/yaml-document.js'

const read = (text: string) => new YamlDocument(text, yaml)

test.each([
  ['a: 1\n---\nb: 2\n', 2, 1],
  ['a: 1\r\n---\r\nb: 2\r\n', 2, 1],
  ['---\na: 1\n...\nb: 2\n', 4, 1],
  ['a: 1\n--- ~\n', 2, 1],
  ['a: 1\n--- ""\n', 2, 1],
  ['a: 1\n---\n# comment\n---\nb: 2\n', 4, 1],
  ['a: 1\n---\n{ damaged\n', 2, 1],
  ['# comment\n---\na: 1\n--- { b: 2 }\n', 4, 1],
])('YamlDocument reports the place of the second document in %j', (text, line, column) => {
  const message = 'A second document starts here. A file holds one.'
  expect(read(text)).toMatchObject({ value: undefined, problems: [{ line, column, message }] })
})

test.each([
  '---\na: 1\n',
  'a: 1\n...\n',
  'a: 1\n---\n',
  'a: 1\n---\n# comment\n',
  'a: 1\n...\n---\n# comment\n...\n',
  '# comment\n---\n---\na: 1\n',
  '%YAML 1.2\n---\na: 1\n',
  '\ufeffa: 1\n',
])('YamlDocument reads %j, in which only one document has content', (text) => {
  expect(read(text)).toMatchObject({ value: { a: 1 }, problems: [] })
})

test('YamlDocument keeps lines that look like a document mark inside a block of text', () => {
  expect(read('a: |\n  ---\n  x\n').value).toEqual({ a: '---\nx\n' })
})

test.each(['', '# comment\n', '---\n', '---\n...\n---\n'])(
  'YamlDocument reads %j, without content, as null',
  (text) => {
    expect(read(text)).toMatchObject({ value: null, problems: [] })
  },
)

test('YamlDocument places values by line when empty documents stand before them', () => {
  expect(read('---\n---\na: 1\n').placeOf(['a'])).toEqual({ line: 3, column: 1 })
})

test('YamlDocument reads a name that looks like a number or boolean as a text', { tags: 'yaml-files/1' }, () => {
  expect(read('{ 0123: a, 1e3: b, true: c, ~: d }').value).toEqual({ '0123': 'a', '1e3': 'b', true: 'c', '~': 'd' })
})
