type Names = Readonly<Record<string, 'exported' | 'deprecated'>>
/** Exported names of a module, and whether `@deprecated` stands above each. */
export function exportsOf(text: string): Names
/** Exported names by library, from its sources or its type declarations. */
export function surfaceOf(folder: string): Readonly<Record<string, Names>>
