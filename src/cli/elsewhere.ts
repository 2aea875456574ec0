import { leavesOf } from './command/help.js'
import { page } from './program.js'

/** More would be a list to read, and no suggestion. */
const SUGGESTED_MAX = 4

/** Commands of that name in some group: `verify` is one of vouchers and one of webhook. None where there are many. */
export async function commandsNamed(name: string): Promise<readonly string[]> {
  const nodes = await Promise.all(page.map((it) => it.load()))
  const found = nodes
    .flatMap((node) => leavesOf(node).map(([names]) => [node.name, ...names]))
    .filter((path) => path.length > 1 && path.at(-1) === name)
    .map((path) => path.join(' '))
  return found.length > SUGGESTED_MAX ? [] : found
}
