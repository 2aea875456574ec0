import { readFileSync } from 'node:fs'

/** Returns a file that a guide shows: the code block whose first line is a comment with this path. */
export function fileOfGuide(guide: string, path: string): string {
  // Relative to the checkout: the campaigns are one bundled file elsewhere.
  const text = readFileSync(`src/guides/${guide}.md`, 'utf8')
  const blocks = [...text.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, block = '']) => block)
  const found = blocks.find((it) => it.startsWith(`# ${path}\n`) || it.startsWith(`; ${path}\n`))
  if (found === undefined) throw new Error(`the guide ${guide} shows no ${path}`)
  return found
}

/** Replaces texts that must occur, so that a test fails when the guide no longer has them. */
export function withReplaced(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`${JSON.stringify(from)} is missing in:\n${text}`)
    return changed.replaceAll(from, to)
  }, text)
}
