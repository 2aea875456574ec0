import { expect, test } from 'vitest'
import { wrapMarkdown } from '../../../src/cli/output/markdown.js'
import { cli } from '../../support/cli/cli.js'

const isTopic = (name: string) => ['page', 'rules'].includes(name)

test('a Markdown table is formatted with aligned columns and cells wrapped at spaces', () => {
  const table =
    '| flag | what it does |\n|---|---|\n| `--seed FILE` | plants `a\\|b` into an empty store |\n| `--off` | x |'
  expect(wrapMarkdown(`Flags:\n\n${table}\n\nEnd.`, 34)).toBe(
    [
      'Flags:',
      '',
      'flag           what it does',
      '-------------  -------------------',
      '`--seed FILE`  plants `a|b` into',
      '               an empty store',
      '`--off`        x',
      '',
      'End.',
    ].join('\n'),
  )
})

test('a Markdown table whose words do not fit side by side is shown row by row as paragraphs', () => {
  const table = '| name | meaning |\n|---|---|\n| LONG_NAME_1 | unbreakable |\n| LONG_NAME_2 | two words |'
  expect(wrapMarkdown(table, 20)).toBe('LONG_NAME_1\nmeaning: unbreakable\n\nLONG_NAME_2\nmeaning: two words')
})

test('a Markdown link becomes its text, with web address or help topic', { tags: 'help-topics/2' }, () => {
  const links =
    '[Text](#a), [the page](src/guides/page.md), [ids](rules/calls.md#times), [jq](https://jqlang.org), [source](other.txt)'
  expect(wrapMarkdown(links, 100, isTopic)).toBe(
    'Text, the page [voucherctl help page], ids [voucherctl help rules], jq (https://jqlang.org), source',
  )
  expect(wrapMarkdown(`![A page](page.png)`, 80)).toBe('(Picture: A page)')
})

test('paragraphs and lists of Markdown are wrapped at spaces, with code blocks unchanged', () => {
  const code = `\`\`\`sh\n| echo ${'x'.repeat(40)} [a](#b)\n\`\`\``
  expect(wrapMarkdown(`one two three\n- four five six\n12. seven eight\n\n${code}\n`, 10)).toBe(
    `one two\nthree\n- four\n  five six\n12. seven\n    eight\n\n${code}\n`,
  )
})

test('without a terminal a guide keeps tables and links, and has 80 columns', { tags: 'help-topics/2' }, async () => {
  const { stdout } = await cli('help reference-server')
  expect(stdout).toContain("\n| tokens, also the page's | SHA-256 |\n")
  expect(stdout).toContain('](../contract/rules/')
})

test.each([60, 80, 120])('a help topic fits %i columns except in code', { tags: 'help-topics/2' }, async (columns) => {
  for (const topic of ['reference-server', 'rules', 'exit-codes', 'output']) {
    const { stdout } = await cli(`help ${topic}`, { terminal: true, columns })
    const prose = stdout.replace(/^```[^]*?^```$/gm, '').split('\n')
    expect(prose.filter((line) => line.length > columns && line.trim().includes(' '))).toEqual([])
    expect(prose.filter((line) => line.startsWith('|'))).toEqual([])
  }
})
