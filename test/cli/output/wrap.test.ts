import { describe, expect, test } from 'vitest'
import { wrapMessage } from '../../../src/cli/output/wrap.js'

describe('wrapMessage', () => {
  test('breaks lines at spaces and indents the rest of a line like its text', () => {
    expect(wrapMessage('hint: one two three\n  four five six\nshort\n', 13)).toBe(
      'hint: one two\n      three\n  four five\n  six\nshort\n',
    )
  })

  test('keeps a suggested command and a long word on one line', () => {
    expect(wrapMessage('Run `voucherctl apps list`. https://shop.example/long yes', 12)).toBe(
      'Run\n`voucherctl apps list`.\nhttps://shop.example/long\nyes',
    )
  })

  test('ignores colours when it measures a line', () => {
    const coloured = '\u001b[31merror:\u001b[39m one two'
    expect(wrapMessage(coloured, 14)).toBe(coloured)
    expect(wrapMessage(coloured, 13)).toBe('\u001b[31merror:\u001b[39m one\n       two')
  })

  // With quadratic time this text would take minutes.
  test('wrapMessage() takes linear time for a megabyte of words and backticks', () => {
    const lines = wrapMessage(' `a` b'.repeat(160_000), 80).split('\n')
    expect(lines.every((it) => it.length <= 80)).toBe(true)
    expect(lines.length).toBeGreaterThan(10_000)
  })
})
