import { expect, test } from 'vitest'
import { parseMix } from '../../../src/cli/load/mix.js'

test('mix has the share of each named operation, and 0 for the others', () => {
  expect(parseMix('verify=60,issue=40')).toEqual({ ok: true, value: { issue: 40, verify: 60, redeem: 0 } })
  expect(parseMix('redeem=100')).toEqual({ ok: true, value: { issue: 0, verify: 0, redeem: 100 } })
})

test.each([
  ['issue=30,verify=50,redeem=10', 'must add up to 100, not 90'],
  ['issue=100,verify=1', 'must add up to 100, not 101'],
  ['issue=50,issue=50', 'names issue twice'],
  ['issue=NaN', 'needs a whole number of percent above 0 for issue, such as issue=30'],
  ['issue=33.3,verify=66.7', 'needs a whole number of percent above 0 for issue, such as issue=30'],
  ['issue=-10,verify=110', 'needs a whole number of percent above 0 for issue, such as issue=30'],
  ['issue=0,verify=100', 'needs a whole number of percent above 0 for issue, such as issue=30'],
  ['issue=50=50', 'needs a whole number of percent above 0 for issue, such as issue=30'],
  ['issue', 'needs a whole number of percent above 0 for issue, such as issue=30'],
  ['', 'must name issue, verify, redeem, not ""'],
  ['issue=50,', 'must name issue, verify, redeem, not ""'],
  ['constructor=100', 'must name issue, verify, redeem, not "constructor"'],
])('the mix %j is refused, because it %s', (text, message) => {
  expect(parseMix(text)).toMatchObject({ ok: false, message })
})

test('error for a mix suggests the operation that was mistyped', () => {
  expect(parseMix('isue=100')).toMatchObject({ ok: false, hint: 'Did you mean issue?' })
})
