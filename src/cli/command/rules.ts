import type { Host } from '../host/host.js'

/** File with the introduction of the rules and a list of their chapters. */
export const RULES = 'src/contract/RULES.md'

/** The rules as one document: the chapters replace the list that links them. */
export function rulesText({ document }: Pick<Host, 'document'>): string {
  const chapter = (_line: string, path: string) =>
    document(`src/contract/${path}`)
      .replace(/^#/gm, '##')
      .replace(/\]\([\w-]+\.md#/g, '](#')
  return `${document(RULES)
    .replace(/^- \[.*\]\((.+)\)$/gm, chapter)
    .trimEnd()}\n`
}
