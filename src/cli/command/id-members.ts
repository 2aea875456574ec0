import { kindOfId, recordKinds } from '../../contract/record-kinds.js'
import type { Members } from '../../values/json.js'

export type NamedKind = 'bots' | 'apps' | 'templates'

/** Finds the members of a call's input that may hold a name in place of an id. No path can carry `.` and `..`. */
export const namesIn = (input: Members) =>
  (['bots', 'apps', 'templates'] as const).flatMap((kind) =>
    recordKinds[kind].members.flatMap((member) => {
      const name = input[member]
      const mayBeName = typeof name === 'string' && !['', '.', '..'].includes(name) && kindOfId(name) === undefined
      return mayBeName ? [{ member, kind, name }] : []
    }),
  )
