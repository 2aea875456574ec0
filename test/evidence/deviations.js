import { readdirSync, readFileSync } from 'node:fs'
import { replaceOnce, root } from '../support/planting.js'

const folder = new URL('deviations/', import.meta.url)

/** Matches the head of a deviation, the lines that it removes, and those that it adds. */
const DEVIATION = /^(\S+\/\d+) (\S+)\n((?:- .*\n)+)((?:\+ .*\n)*)/gm
const textOf = (/** @type {string} */ lines) => lines.replace(/^[-+] /gm, '').trimEnd()

/**
 * Changes of the source, each of which breaks a statement of a rule. Files in deviations/ have them as a head with rule
 * and source file, lines after `- ` that stand in the file exactly once, and lines after `+ ` that replace them.
 */
export function readDeviations() {
  return readdirSync(folder).flatMap((name) =>
    [...readFileSync(new URL(name, folder), 'utf8').matchAll(DEVIATION)].map(
      ([, rule, file, removed = '', added = ''], at) => ({
        id: `${name}:${at + 1}`,
        rule,
        file,
        from: textOf(removed),
        to: textOf(added),
      }),
    ),
  )
}

/** Plants a deviation while Vite transforms its file. */
export const planting = (/** @type {import('./deviations.js').Deviation} */ deviation) => ({
  name: 'planting',
  enforce: /** @type {const} */ ('pre'),
  transform: (/** @type {string} */ source, /** @type {string} */ path) =>
    path === root + deviation.file ? replaceOnce(source, deviation) : undefined,
})
