import type { BundledFile } from '../../src/build/bundle.js'

/** The bundled files that the command line may load unless it starts a server. */
export function filesWithoutServer(program: Readonly<Record<string, BundledFile>>): string[]
