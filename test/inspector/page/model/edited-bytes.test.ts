import { expect, test } from 'vitest'
import { textOf, withoutSecrets } from '../../../../src/inspector/page/model/bytes.js'
import {
  base64Of,
  fromHex,
  isEditableText,
  readBytes,
  writeBytes,
} from '../../../../src/inspector/page/model/edited-bytes.js'

const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte)

test('hex keeps every byte', () => {
  expect(readBytes(writeBytes(everyByte, 'hex'), 'hex')).toEqual(everyByte)
})

test('hex has 16 bytes on a line', () => {
  const lines = writeBytes(everyByte.slice(0, 33), 'hex').split('\n')
  expect(lines.map((it) => it.length)).toEqual([47, 47, 2])
})

test('text keeps the bytes of UTF-8, with a mark of the byte order', () => {
  const bytes = new TextEncoder().encode('\ufeff{"text":"Grüße\\n"}\n')
  expect(isEditableText(bytes)).toBe(true)
  expect(readBytes(writeBytes(bytes, 'text'), 'text')).toEqual(bytes)
})

test('text is not offered for bytes with a redeem code, and the bytes that are shown hide it', () => {
  const bytes = new TextEncoder().encode('{"reference":"M9S3-46Q3-D25V-T4FJ"}')
  expect(isEditableText(bytes)).toBe(false)
  expect(textOf(withoutSecrets(bytes))).toBe('{"reference":"[hidden]"}')
  expect(withoutSecrets(everyByte)).toBe(everyByte)
})

test('text is not offered for bytes that a text area would change', () => {
  expect(isEditableText(everyByte)).toBe(false)
  expect(isEditableText(new TextEncoder().encode('a\r\nb'))).toBe(false)
})

test('reads hex with space between digits, in any case', () => {
  expect(fromHex(' 7B\n7d 0A')).toEqual(Uint8Array.of(0x7b, 0x7d, 0x0a))
  expect(fromHex('')).toEqual(new Uint8Array())
})

test('refuses half a byte and other characters in hex', () => {
  expect(fromHex('7b7')).toBeNull()
  expect(fromHex('7b, 7d')).toBeNull()
})

test('writes base64 of every byte', () => {
  expect(base64Of(everyByte)).toBe(Buffer.from(everyByte).toString('base64'))
})
