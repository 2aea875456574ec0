import type { RolldownOutput } from 'rolldown'

/** A package with files in the bundle. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  /** An SPDX expression. */
  readonly license: string
  /** Of files outside npm packages. */
  readonly purl?: string
}

/** Bundles all programs into `dir`; returns Rolldown's report of each program, and the packages in them. */
export function bundle(dir: string): Promise<{ programs: RolldownOutput[]; packages: BundledPackage[] }>
