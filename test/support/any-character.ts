import fc from 'fast-check'

const SURROGATES = 0x800

/**
 * Any code point except surrogates, as `unit` of fc.string. The built-in unit 'binary' needs 1 s to build a map of all
 * 1.1 million characters.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((it) => String.fromCodePoint(it < 0xd800 ? it : it + SURROGATES))
