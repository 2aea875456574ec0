import type { BundledFile } from '../../src/build/bundle.js'

/** Bundled files that the command line may load without starting a server. */
export function filesWithoutServer(program: Readonly<Record<string, BundledFile>>): string[]
