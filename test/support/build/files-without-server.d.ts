import type { RolldownOutput } from 'rolldown'

/** Paths of the bundled files of the command line without the server and the probes. */
export function filesWithoutServer(program: RolldownOutput): string[]
