import { expect, it } from 'vitest'
import { parseJson } from '../../src/values/json.js'

it('JSON may have null, texts and numbers inside its deepest allowed level', () => {
  for (const value of ['null', '"x"', '1', 'true']) {
    expect(parseJson(`[[${value}],[${value}]]`, 2)).toEqual([[JSON.parse(value)], [JSON.parse(value)]])
    expect(parseJson(`[[[${value}]]]`, 2)).toBeUndefined()
  }
})
