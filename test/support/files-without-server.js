/** Matches modules of the server, and those of the PDF library, which only a PDF sheet loads. */
const excluded = /^(?:src\/server|node_modules\/@pdfme\/pdf-lib)\//

/** Paths of the bundled files of the command line without the server and the PDF library. */
export function filesWithoutServer(program) {
  const files = new Set(['cli/main.cjs'])
  for (const file of files) {
    for (const next of program[file].loads) {
      if (!program[next].modules.some((path) => excluded.test(path))) files.add(next)
    }
  }
  return [...files]
}
