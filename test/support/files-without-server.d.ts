import type { BundledFile } from '../../src/build/bundle.js'

/** Paths of the bundled files that load no code of src/server/. */
export function filesWithoutServer(program: Readonly<Record<string, BundledFile>>): string[]
