import type { Members } from '../../values/json.js'

export type NamedKind = 'bots' | 'apps' | 'templates'

/** Members of calls that hold the id of a record with a name. Bots come first, because templates may belong to one. */
const idMembers: Readonly<Record<string, NamedKind>> = {
  botId: 'bots',
  bot_id: 'bots',
  appId: 'apps',
  application_id: 'apps',
  templateId: 'templates',
  template_id: 'templates',
}

/** True for a text with the form of an id of the reference server, of any kind. */
export const hasIdForm = (text: string) => /^(?:app|tok|tpl|vch|rdm|bot|dlv|chat|req|flt)_/.test(text)

/** Finds the members of a call's input that may hold a name in place of an id. No path can carry `.` and `..`. */
export const namesIn = (input: Members) =>
  Object.entries(idMembers).flatMap(([member, kind]) => {
    const name = input[member]
    const mayBeName = typeof name === 'string' && !['', '.', '..'].includes(name) && !hasIdForm(name)
    return mayBeName ? [{ member, kind, name }] : []
  })
