/** The line in which a mutant begins, before and after the change; a mutant of several lines shows its first one. */
function changeOf(source, { location: { start, end }, replacement }) {
  const lines = source.split('\n')
  const head = lines[start.line - 1]
  const from = head.trim()
  const to = `${head.slice(0, start.column - 1)}${replacement}${lines[end.line - 1].slice(end.column - 1)}`.trim()
  return { from, to }
}

const killed = new Set(['Killed', 'Timeout', 'RuntimeError'])

/**
 * Compares Stryker's mutants with the list of equivalent ones. A mutant is identified by its file and by the text of its
 * line before and after the change, so that an entry stays valid when the line moves.
 * @param whole true if whole files were mutated, so that an entry without a surviving mutant is stale
 */
export function compare(files, equivalents, whole) {
  const lines = []
  const counts = { all: 0, killed: 0, listed: 0, alive: 0 }
  for (const [file, { source, mutants }] of Object.entries(files)) {
    const entries = equivalents[file] ?? []
    const used = new Set()
    for (const mutant of mutants) {
      counts.all += 1
      if (killed.has(mutant.status)) {
        counts.killed += 1
        continue
      }
      const { from, to } = changeOf(source, mutant)
      if (entries.some((it) => it.from === from && it.to.includes(to))) {
        counts.listed += 1
        used.add(`${from}\n${to}`)
        continue
      }
      counts.alive += 1
      const { line } = mutant.location.start
      lines.push(`${file}:${line} ${mutant.status} (${mutant.mutatorName})\n  - ${from}\n  + ${to}\n`)
    }
    if (!whole) continue
    for (const { from, to } of entries) {
      for (const it of to) {
        if (!used.has(`${from}\n${it}`)) lines.push(`${file}: stale entry of equivalents.txt\n  - ${from}\n  + ${it}\n`)
      }
    }
  }
  return { lines, counts, failed: lines.length > 0 }
}
