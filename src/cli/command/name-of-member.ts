import { shellWord } from '../../contract/values/shell-word.js'
import type { Flag, FlagTexts } from '../flags/flags.js'
import type { Leaf, Positional } from './leaf.js'

/**
 * Names the flag or argument that supplied a member of a call, such as `--valid-from` for `/validity/starts_at`, or the
 * member and the file if a file supplied it; undefined for a member that the command does not know.
 */
export function nameOfMember(leaf: Leaf, given: FlagTexts, pointer: string): string | undefined {
  const path = pointer.replace(/^\//, '')
  const flags = Object.entries<Flag<unknown>>(leaf.flags ?? {}).map(([name, flag]) => ({ name, flag }))
  const found = flags.flatMap(({ name, flag }) => {
    const member = memberOf(leaf, name, flag).find((it) => isWithin(path, it) || isWithin(it, path))
    return member === undefined ? [] : [{ name, flag, rest: path.slice(member.length + 1) }]
  })
  const typed = found.filter(({ name }) => given.has(name))
  if (typed.length === 0 && isArgument(leaf.positional, path)) return leaf.positional?.name
  const file = given.get('file')?.at(-1)
  if (typed.length === 0 && pointer.startsWith('/') && file !== undefined && leaf.flags?.file !== undefined) {
    return `${path.replaceAll('/', '.')} in ${file === '-' ? 'standard input' : file}`
  }
  const [first, ...others] = typed.length === 0 ? found : typed
  if (first === undefined) return undefined
  const names = [first, ...others].map(({ name }) => `--${name}`).join(', ')
  return others.length > 0 ? names : withPart(names, first.flag, first.rest, given.get(first.name) ?? [])
}

function isArgument(argument: Positional | undefined, path: string): boolean {
  if (argument?.member !== undefined) return isWithin(path, argument.member)
  return argument !== undefined && memberNames(argument.name.toLowerCase()).includes(path)
}

const isWithin = (path: string, member: string) => path === member || path.startsWith(`${member}/`)

/** Adds the refused part of a flag that has several values: the value itself, or its key. */
function withPart(name: string, flag: Flag<unknown>, rest: string, texts: readonly string[]): string {
  if (rest === '' || flag.repeatable !== true) return name
  const [part = ''] = rest.split('/')
  const value = /^\d+$/.test(part) ? texts[Number(part)] : part
  return value === undefined ? name : `${name} ${shellWord(value)}`
}

/** Members that a flag supplies: as the command declares them, else those whose name is that of the flag. */
function memberOf({ members = {} }: Leaf, name: string, { repeatable }: Flag<unknown>): readonly string[] {
  const declared: string | readonly string[] | undefined = members[name]
  if (declared !== undefined) return [declared].flat()
  const snake = name.replaceAll('-', '_')
  return [...memberNames(snake), ...(repeatable ? [`${snake}s`] : [])]
}

/** Names of a member in body and path: `template` may be `template_id`, and `app_id` the path parameter `appId`. */
function memberNames(snake: string): readonly string[] {
  const all = [snake, `${snake}_id`]
  return [...all, ...all.map((it) => it.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()))]
}
