import { readFileSync } from 'node:fs'

/** Reads the list of equivalents.txt: paths of files, and below each its mutants in the form of the report. */
function read(text) {
  const byFile = {}
  let mutants
  for (const block of text.trim().split('\n\n')) {
    const lines = block.split('\n')
    const marked = (mark) => lines.filter((it) => it.startsWith(`${mark} `)).map((it) => it.slice(2))
    const [from] = marked('-')
    if (from === undefined) {
      mutants = []
      byFile[block] = mutants
    } else mutants.push({ from, to: marked('+'), reason: lines.at(-1) })
  }
  return byFile
}

/** Mutants that no test can notice, by file. `npm run mutate` reports every other survivor, and stale entries. */
export const equivalents = read(readFileSync(new URL('equivalents.txt', import.meta.url), 'utf8'))
