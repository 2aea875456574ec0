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

/** The rules by their anchors. */
export function rulesOf(host: Pick<Host, 'document'>): ReadonlyMap<string, string> {
  const sections = rulesText(host).split(/^(?=#{2,3} )/m)
  const rules = sections.filter((it) => it.startsWith('### '))
  return new Map(rules.map((it) => [anchorOf(it.slice(4, it.indexOf('\n'))), it.trim()]))
}

const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
