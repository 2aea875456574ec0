import type { RolldownOutput } from 'rolldown'
/** Bundles all programs into `dir`; returns Rolldown's report of each program. */
export function bundle(dir: string): Promise<RolldownOutput[]>
