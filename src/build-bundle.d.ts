export interface BundledFile {
  /** Paths from the checkout. */
  readonly modules: readonly string[]
  /** Other files of the program, at the start or on demand. */
  readonly loads: readonly string[]
}

/** Bundles all programs into a folder; returns the files of each by their path in it. */
export function bundle(outdir: string): Promise<Readonly<Record<string, BundledFile>>[]>
