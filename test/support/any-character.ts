import fc from 'fast-check'

const SURROGATES = 0x800

/**
 * A unit of fc.string: any code point but surrogates. The unit 'binary' of fast-check is the same, but builds a map of
 * all 1.1 million characters first, which takes a second.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES })
  .map((it) => String.fromCodePoint(it < 0xd800 ? it : it + SURROGATES))
