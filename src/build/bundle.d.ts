/** `modules`: repository paths of the bundled modules. `loads`: files that it imports, at the start or on demand. */
export type BundledFile = Readonly<Record<'modules' | 'loads', readonly string[]>>

/** Bundles all programs into a folder; returns the files of each program by their path in the folder. */
export function bundle(outdir: string): Promise<Readonly<Record<string, BundledFile>>[]>
