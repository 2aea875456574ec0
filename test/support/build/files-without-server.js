/** Matches modules of the server, and of the probes, which only `conform` loads. */
const excluded = /[\\/]src[\\/](?:server|conform[\\/]probes)[\\/]/

/** Paths of the bundled files of the command line without the server and the probes. */
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
