import type { CommandLine } from '../command-line.js'
import { globalFlags } from '../flags/globals.js'
import type { Output } from '../output/output.js'
import { page } from '../program.js'
import { describeFlags, describeLeaf, helpOfNode, helpOfProgram, leavesOf } from './help.js'

/** Shows the help of the program, a topic, a group or a command. */
export async function showHelp({ topic, node, path }: CommandLine, output: Output): Promise<void> {
  const isForPeople = output.options.format === 'table'
  if (topic !== undefined) {
    const { text, data } = (await import('../topics.js')).topicText(topic)
    return isForPeople ? output.say(text) : output.print(data)
  }
  if (isForPeople) return output.say(node === undefined ? helpOfProgram() : helpOfNode(node, path))
  if (node !== undefined) {
    return output.print(leavesOf(node).map(([names, leaf]) => describeLeaf(leaf, [...path, ...names])))
  }
  return output.print({
    flags: describeFlags(globalFlags),
    groups: page.map(({ name, alias, summary }) => ({ name, alias: alias ?? null, summary })),
  })
}
