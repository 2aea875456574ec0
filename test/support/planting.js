// Functions for scripts and tests that copy the project or change its sources.
import { cpSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the project, with a slash at the end. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Copies parts of the project into a temporary folder, with a link to node_modules; returns the folder. */
export function copyProject(parts) {
  const copy = mkdtempSync(join(tmpdir(), 'voucherctl-copy-'))
  for (const part of parts) cpSync(join(root, part), join(copy, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** Matches the head of a planted mistake, the lines that it removes, and those that it adds. */
const MISTAKE = /^(.+) (\S+)\n((?:-(?: .*)?\n)+)((?:\+(?: .*)?\n)*)$/
const textOf = (lines) => lines.replace(/^[-+] ?/gm, '').trimEnd()

/**
 * Reads mistakes that tests must notice, from a path from the root, with an empty line between them: a head with name
 * and source file, lines after `- ` that stand in the file exactly once, and lines after `+ ` that replace them.
 */
export const readMistakes = (path) =>
  readFileSync(join(root, path), 'utf8')
    .split(/\n\n+/)
    .filter((block) => block.trim() !== '')
    .map((block) => {
      const [, name, file, removed, added] = MISTAKE.exec(`${block.trimEnd()}\n`) ?? []
      if (name === undefined) throw new Error(`${path}: this is no head with lines after - and +:\n${block}`)
      return { name, file, from: textOf(removed), to: textOf(added) }
    })

/** Replaces a text of a source file. @throws if it does not stand in the file exactly once */
export function replaceOnce(source, { file, from, to }) {
  if (source.split(from).length !== 2) throw new Error(`"${from}" does not stand exactly once in ${file}`)
  return source.replace(from, () => to)
}
