import { rulesText } from '../command/rules.js'
import type { Host } from '../host/host.js'

/** The sections of the rules, by anchor. */
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
