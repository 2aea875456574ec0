/** Paths of the bundled files that load no code of src/server/. */
export function filesWithoutServer(program) {
  const files = new Set(['cli/main.cjs'])
  for (const file of files) {
    for (const next of program[file].loads) {
      if (!program[next].modules.some((path) => path.startsWith('src/server/'))) files.add(next)
    }
  }
  return [...files]
}
