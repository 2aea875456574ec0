import { type Entry, isGroup, loadCommands, type Node } from '../../command/leaf.js'
import type { Word } from '../../host/host.js'

export const helpWord: Word = { value: 'help', summary: 'Help of a command or a topic' }

/** Names of subcommands. `after`: name and aliases of their group; empty at the top level. */
export interface CommandWords {
  readonly after: readonly string[]
  readonly words: readonly Word[]
}

export async function commandWords(entries: readonly Entry[]): Promise<readonly CommandWords[]> {
  const nodes = await Promise.all(entries.map((it) => it.load()))
  const first = { after: [''], words: [...entries.map(wordOf), helpWord] }
  const others = await Promise.all(nodes.map((node, i) => below(node, [entries[i]?.name, entries[i]?.alias])))
  return [first, ...others.flat()]
}

async function below(node: Node, spellings: readonly (string | undefined)[]): Promise<CommandWords[]> {
  if (!isGroup(node)) return []
  const after = spellings.filter((it) => it !== undefined)
  const commands = await loadCommands(node)
  const deeper = await Promise.all(
    commands.map((child) =>
      below(
        child,
        after.flatMap((it) => [
          `${it} ${child.name}`,
          ...(isGroup(child) && child.alias ? [`${it} ${child.alias}`] : []),
        ]),
      ),
    ),
  )
  // A group with its own command accepts arguments too, which only voucherctl can complete, so list no words.
  return [...(node.own === undefined ? [{ after, words: commands.map(wordOf) }] : []), ...deeper.flat()]
}

const wordOf = ({ name, summary }: { readonly name: string; readonly summary: string }): Word => ({
  value: name,
  summary,
})
