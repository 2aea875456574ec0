import type { RolldownOutput } from 'rolldown'

/** Paths of the bundled files of the command line without the server, the probes and the PDF library. */
export function filesWithoutServer(program: RolldownOutput): string[]
