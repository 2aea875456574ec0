/** `modules`: source files in the bundled file. `loads`: bundled files that it imports, statically or on demand. */
export type BundledFile = Readonly<Record<'modules' | 'loads', readonly string[]>>

/** Bundles all programs into `outdir`; returns the bundled files of each program by their path in `outdir`. */
export function bundle(outdir: string): Promise<Readonly<Record<string, BundledFile>>[]>
