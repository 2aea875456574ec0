/** The files that the command line may load as long as it starts no server. */
export function filesWithoutServer(program) {
  const files = new Set(['cli/main.cjs'])
  for (const file of files) {
    for (const next of program[file].loads) if (!program[next].modules.includes('src/server/listen.ts')) files.add(next)
  }
  return [...files]
}
