import type { BundledFile } from '../../src/build-bundle.js'

/** The files that the command line may load as long as it starts no server. */
export function filesWithoutServer(program: Readonly<Record<string, BundledFile>>): string[]
