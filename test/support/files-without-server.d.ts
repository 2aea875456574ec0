import type { BundledFile } from '../../src/build/bundle.js'

/** Paths of the bundled files of the command line without the server and the PDF library. */
export function filesWithoutServer(program: Readonly<Record<string, BundledFile>>): string[]
