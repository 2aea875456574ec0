import { describeFlags, describeLeaf, helpOfNode, helpOfProgram, leavesOf } from './command/help.js'
import type { Node } from './command/leaf.js'
import { globalFlags } from './flags/globals.js'
import type { Output } from './output/output.js'
import type { Topic } from './program.js'
import { page, topics } from './program.js'

/** What a command line asks help about: a topic, a node of the tree, or neither for the program. */
interface Subject {
  readonly topic?: Topic | undefined
  readonly node?: Node | undefined
  readonly path: readonly string[]
}

/** Shows the help of the program, a topic, a group or a command. */
export async function showHelp({ topic, node, path }: Subject, output: Output): Promise<void> {
  const isForPeople = output.options.format === 'table'
  if (topic !== undefined) {
    const { text, data } = (await import('./topics.js')).topicText(topic)
    return isForPeople ? output.say(text) : output.print(data)
  }
  if (isForPeople) return output.say(node === undefined ? helpOfProgram(page, topics) : helpOfNode(node, path))
  if (node !== undefined) {
    return output.print(leavesOf(node).map(([names, leaf]) => describeLeaf(leaf, [...path, ...names])))
  }
  return output.print({
    flags: describeFlags(globalFlags),
    groups: page.map(({ name, alias, summary }) => ({ name, alias: alias ?? null, summary })),
  })
}
