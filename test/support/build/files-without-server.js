/** Matches modules of the server, of the probes, which only `conform` loads, and of the PDF library of sheets. */
const excluded = /[\\/](?:src[\\/](?:server|conform[\\/]probes)|node_modules[\\/]@pdfme[\\/]pdf-lib)[\\/]/

/** Paths of the bundled files of the command line without the server, the probes and the PDF library. */
export function filesWithoutServer({ output }) {
  const chunks = new Map(output.map((it) => [it.fileName, it]))
  const files = new Set(['cli/main.cjs'])
  for (const file of files) {
    const { imports, dynamicImports } = chunks.get(file)
    for (const next of [...imports, ...dynamicImports]) {
      if (chunks.get(next)?.moduleIds.some((path) => excluded.test(path)) === false) files.add(next)
    }
  }
  return [...files]
}
