import { globalFlags } from './globals.js'
import { describeFlags, describeLeaf, helpOfNode, helpOfProgram, leavesOf } from './help.js'
import type { Node } from './leaf.js'
import { isGroup } from './leaf.js'
import type { Output } from './output.js'
import { findEntry, findNode, page, topics } from './program.js'

/** Shows the help of the program, a topic, a group or a command; false where the names lead nowhere. */
export async function showHelp(names: readonly string[], output: Output): Promise<boolean> {
  const machine = output.options.format !== 'table'
  if (names.length === 0) {
    if (machine)
      await output.print({
        flags: describeFlags(globalFlags),
        groups: page.map(({ name, alias, summary }) => ({ name, alias: alias ?? null, summary })),
      })
    else output.say(helpOfProgram())
    return true
  }
  const [first = ''] = names
  if (Object.hasOwn(topics, first)) {
    const { text, data } = (await import('./topics.js')).topicText(first as keyof typeof topics)
    if (machine) await output.print(data)
    else output.say(text)
    return true
  }
  const entry = findEntry(first)
  if (entry === undefined) return false
  let node: Node = await entry.load()
  const path = [node.name]
  for (const name of names.slice(1)) {
    const child: Node | undefined = isGroup(node) ? findNode(node.commands, name) : undefined
    if (child === undefined) break
    node = child
    path.push(child.name)
  }
  if (isGroup(node) && node.own === undefined && names.length > path.length) return false
  if (!machine) output.say(helpOfNode(node, path))
  else await output.print(leavesOf(node).map(([rest, leaf]) => describeLeaf(leaf, [...path, ...rest])))
  return true
}
