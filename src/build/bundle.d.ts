export interface BundledFile {
  /** Paths relative to the repository. */
  readonly modules: readonly string[]
  /** Other files that this file loads, at the start or on demand. */
  readonly loads: readonly string[]
}

/** Bundles all programs into a folder; returns the files of each program by their path in the folder. */
export function bundle(outdir: string): Promise<Readonly<Record<string, BundledFile>>[]>
