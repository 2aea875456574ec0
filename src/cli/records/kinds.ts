import type { Flag, FlagTexts } from '../flags/flags.js'

/** Resources whose ids come from a server. */
export type IdKind = 'apps' | 'tokens' | 'templates' | 'bots' | 'chats' | 'deliveries' | 'faults'

/** Kinds of words from this machine: recorded deliveries, endpoint ids, paths of routes, names of profiles. */
const localKinds = ['recorded', 'endpoints', 'routes', 'profiles'] as const
export type LocalKind = (typeof localKinds)[number]
export const isLocal = (kind: ValueKind): kind is LocalKind => localKinds.some((it) => it === kind)

/** What a flag or argument takes as its value; `fields` are names of members of the result. */
export type ValueKind = 'choices' | 'files' | 'folders' | 'fields' | IdKind | LocalKind | 'free'

/** The words before the value. */
interface LineBefore {
  readonly path: readonly string[]
  readonly given: FlagTexts
  readonly operands: readonly string[]
}

/** A value that completion and prompts look for at a server. */
export interface IdTarget {
  readonly kind: 'ids'
  readonly of: IdKind
  readonly line: LineBefore
}

/** A value that completion and prompts look for on this machine. `current` is the start of the word. */
export interface LocalTarget {
  readonly kind: 'local'
  readonly of: LocalKind
  readonly line: LineBefore
  readonly current: string
}

/** Kinds by placeholder. A placeholder means the same in every command, so flags need not declare a kind. */
const byPlaceholder: Readonly<Partial<Record<string, ValueKind>>> = {
  FILE: 'files',
  'FILE|-': 'files',
  'PATH|-': 'files',
  DIR: 'folders',
  APP_ID: 'apps',
  TOKEN_ID: 'tokens',
  TEMPLATE_ID: 'templates',
  BOT_ID: 'bots',
  CHAT_ID: 'chats',
  DELIVERY_ID: 'deliveries',
  FAULT_ID: 'faults',
  PROFILE: 'profiles',
  DELIVERY: 'recorded',
  PATH: 'routes',
  'A,B': 'fields',
}

/** Kinds of flags whose value is the id of a resource, such as `--app ID`. */
const byFlag: Readonly<Partial<Record<string, ValueKind>>> = {
  app: 'apps',
  template: 'templates',
  bot: 'bots',
  chat: 'chats',
  profile: 'profiles',
  id: 'recorded',
  endpoint: 'endpoints',
}

export function kindOfFlag(name: string, { value = '', choices }: Flag<unknown>): ValueKind {
  if (choices !== undefined) return 'choices'
  return byPlaceholder[value] ?? (value === 'ID' || value === 'NAME' ? byFlag[name] : undefined) ?? 'free'
}

/** The members of a positional argument that tell what it takes. */
interface Operand {
  readonly name: string
  readonly choices?: readonly string[] | undefined
}

export function kindOfPositional({ name, choices }: Operand): ValueKind {
  return choices === undefined ? (byPlaceholder[name] ?? 'free') : 'choices'
}
