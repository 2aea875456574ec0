/** Returns the path of a program in PATH, or in a folder of programs for administrators. */
export declare function findProgram(name: string): string | undefined

/** Reason of skipped tests where a program is missing. */
export declare const noProgram: (name: string) => string
