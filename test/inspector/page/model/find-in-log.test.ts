import { expect, test } from 'vitest'
import { entryOf } from '../../../../src/inspector/page/model/activity-log.js'
import { findInLog } from '../../../../src/inspector/page/model/find-in-log.js'
import { base64, exchangeOf, requestEntry, requestLine } from './activity-samples.js'

const entry = (request_id: string, requestBody: string, responseBody: string | null = null) => {
  const { request } = exchangeOf(requestBody)
  const response = { status: 200, headers: [], body: responseBody && base64(responseBody), body_bytes: 0 }
  return entryOf(requestLine({ request_id }, { request, response }))
}

test('word in a kept body finds the entry, without regard to case', () => {
  const entries = [
    entry('req_1', '{"note":"Marzipan"}'),
    entry('req_2', '{}', '{"note":"marzipan"}'),
    entry('req_3', '{}'),
  ]
  expect(findInLog(entries, 'MARZIPAN').map((it) => it.id)).toEqual(['req_2', 'req_1'])
})

test('words of the summary find the entry also without bodies', () => {
  expect(findInLog([requestEntry()], 'vch_1 redeem').map((it) => it.id)).toEqual(['req_1'])
  expect(findInLog([requestEntry()], 'vch_2')).toEqual([])
})

test('search in the log ends after the newest 100 entries', () => {
  const entries = Array.from({ length: 150 }, (_, index) => entry(`req_${index}`, 'word'))
  const found = findInLog(entries, 'word')
  expect([found.length, found[0]?.id, found.at(-1)?.id]).toEqual([100, 'req_149', 'req_50'])
})

test('body that is not text finds nothing', () => {
  const binary = entry('req_1', '')
  const line = { ...binary.line, exchange: { ...exchangeOf(''), request: { ...exchangeOf('').request, body: '/w==' } } }
  expect(findInLog([{ ...binary, line } as typeof binary], 'word')).toEqual([])
})
