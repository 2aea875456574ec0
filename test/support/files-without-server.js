/** Matches modules of the server, of the probes, which only `conform` loads, and of the PDF library of sheets. */
const excluded = /^(?:src\/(?:server|conform\/probes)|node_modules\/@pdfme\/pdf-lib)\//

/** Paths of the bundled files of the command line without the server, the probes and the PDF library. */
export function filesWithoutServer(program) {
  const files = new Set(['cli/main.cjs'])
  for (const file of files) {
    for (const next of program[file].loads) {
      if (!program[next].modules.some((path) => excluded.test(path))) files.add(next)
    }
  }
  return [...files]
}
