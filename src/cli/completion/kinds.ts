import type { Positional } from '../command/leaf.js'
import type { Flag } from '../flags/flags.js'

/** Resources whose ids come from a server. */
export type IdKind = 'apps' | 'tokens' | 'templates' | 'bots' | 'chats' | 'deliveries'

/** Words from this machine: deliveries of the inbox, endpoints by name, routes by path, profiles. */
const localKinds = ['recorded', 'endpoints', 'routes', 'profiles'] as const
export type LocalKind = (typeof localKinds)[number]
export const isLocal = (kind: ValueKind): kind is LocalKind => localKinds.some((it) => it === kind)

/** Kind of a value on the command line. `fields` are members of the result. */
export type ValueKind = 'choices' | 'files' | 'folders' | 'fields' | IdKind | LocalKind | 'free'

/** Placeholders have one meaning across the tool, so that flags need no separate completion kind. */
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
  PROFILE: 'profiles',
  DELIVERY: 'recorded',
  PATH: 'routes',
  'A,B': 'fields',
}

/** Flags that take the id of a resource: `--app ID`. */
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

export function kindOfPositional({ name, choices }: Positional): ValueKind {
  return choices === undefined ? (byPlaceholder[name] ?? 'free') : 'choices'
}
