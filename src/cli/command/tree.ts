import { isGroup, type LazyNode, type Leaf, loadNode, type Node } from './leaf.js'

export type NamedLeaf = readonly [names: readonly string[], leaf: Leaf]

/** Lists the commands below nodes of the tree with their full names. @param names prefix of each name */
export async function leavesOfEntries(
  nodes: readonly (Node | LazyNode)[],
  names: readonly string[] = [],
): Promise<NamedLeaf[]> {
  const leaves = nodes.map(async (it): Promise<NamedLeaf[]> => {
    const node = await loadNode(it)
    const path = [...names, node.name]
    if (!isGroup(node)) return [[path, node]]
    const own: NamedLeaf[] = node.own === undefined ? [] : [[path, node.own]]
    return [...own, ...(await leavesOfEntries(node.commands, path))]
  })
  return (await Promise.all(leaves)).flat()
}

type Operand = ReturnType<typeof operandsOf>[number]

export const operandsOf = ({ positional, second }: Leaf) =>
  [positional, second]
    .filter((it) => it !== undefined)
    .map(({ name, summary, ask, several, choices }) => ({
      name,
      summary,
      required: ask !== undefined,
      repeatable: several ?? false,
      choices: choices ?? null,
    }))

export function synopsis(names: readonly string[], operands: readonly Operand[]): string {
  const words = operands.map(({ name, required, repeatable }) => {
    const all = repeatable ? `${name}...` : name
    return required ? all : `[${all}]`
  })
  return [...names, ...words].join(' ')
}
