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

test('hex editor keeps every byte', () => {
  expect(readBytes(writeBytes(everyByte, 'hex'), 'hex')).toEqual(everyByte)
})

test('hex editor has 16 bytes per line', () => {
  const lines = writeBytes(everyByte.slice(0, 33), 'hex').split('\n')
  expect(lines.map((it) => it.length)).toEqual([47, 47, 2])
})

test('text editor keeps the bytes of UTF-8, with a byte order mark', () => {
  const bytes = new TextEncoder().encode('\ufeff{"text":"Grüße\\n"}\n')
  expect(isEditableText(bytes)).toBe(true)
  expect(readBytes(writeBytes(bytes, 'text'), 'text')).toEqual(bytes)
})

test('text editor is not offered for bytes with a redeem code, which the display hides', () => {
  const bytes = new TextEncoder().encode('{"reference":"M9S3-46Q3-D25V-T4FJ"}')
  expect(isEditableText(bytes)).toBe(false)
  expect(textOf(withoutSecrets(bytes))).toBe('{"reference":"[hidden]"}')
  expect(withoutSecrets(everyByte)).toBe(everyByte)
})

test('text editor is not offered for bytes that a text area would change', () => {
  expect(isEditableText(everyByte)).toBe(false)
  expect(isEditableText(new TextEncoder().encode('a\r\nb'))).toBe(false)
})

test('hex editor reads digits in any case, with spaces between bytes', () => {
  expect(fromHex(' 7B\n7d 0A')).toEqual(Uint8Array.of(0x7b, 0x7d, 0x0a))
  expect(fromHex('')).toEqual(new Uint8Array())
})

test('hex editor refuses half a byte and other characters', () => {
  expect(fromHex('7b7')).toBeNull()
  expect(fromHex('7b, 7d')).toBeNull()
})

test('edited bytes are encoded as base64', () => {
  expect(base64Of(everyByte)).toBe(Buffer.from(everyByte).toString('base64'))
})
