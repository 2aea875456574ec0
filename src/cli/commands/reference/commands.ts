import { isRequired, lines } from '../../command/help.js'
import { type Entry, type Leaf, leaf, type Node } from '../../command/leaf.js'
import { leavesOfEntries, type NamedLeaf, operandsOf, synopsis } from '../../command/tree.js'
import { conflictsOf, type Flags } from '../../flags/flags.js'
import { globalFlags } from '../../flags/globals.js'
import { rows } from '../../output/text.js'

/** Creates the command `commands` for scripts (rules/cli.md#commands). @param page entries of the first help page */
export const commands = (entries: readonly Entry[]): Leaf =>
  leaf({
    name: 'commands',
    summary: 'List every command with its flags',
    notes: [
      'With --json: `items`, a document for each command with its arguments, flags, examples, whether it `changes` something (--dry-run then shows what) and whether it carries an Idempotency-Key (`idempotent`); `global_flags` are the flags of every command. `help COMMAND --json` shows the same document of one command. Members are added, never renamed.',
    ],
    examples: [
      'voucherctl commands',
      'voucherctl commands --json',
      'voucherctl commands -o csv --fields command,changes,summary',
    ],
    view: {
      body: ({ items }: { items: readonly ReturnType<typeof describeLeaf>[] }) =>
        lines([
          ...rows(items.map((it) => [synopsis([it.command.replace('voucherctl ', '')], it.arguments), it.summary])),
          '',
          '`voucherctl COMMAND --help` shows flags and examples; --json lists them here.',
        ]),
    },
    run: async () => {
      const items = (await leavesOfEntries(entries)).map(describeLeaf)
      return { ok: true, data: { items, global_flags: describeFlags(globalFlags) } }
    },
  })

/** Describes a node of the command tree, or the program, for `help --json`. */
export async function describe(node: Node | undefined, path: readonly string[], entries: readonly Entry[]) {
  if (node !== undefined) return (await leavesOfEntries([node], path.slice(0, -1))).map(describeLeaf)
  const groups = entries.map(({ name, alias, summary }) => ({ name, alias: alias ?? null, summary }))
  return { flags: describeFlags(globalFlags), groups }
}

/** Describes a command in `commands --json` and `help COMMAND --json`. Never rename a member: scripts read them. */
function describeLeaf([path, leaf]: NamedLeaf) {
  return {
    command: `voucherctl ${path.join(' ')}`,
    summary: leaf.summary,
    notes: [...(leaf.notes ?? []), ...(leaf.table?.rows ?? []).map(([name, text]) => `${name}: ${text}`)],
    arguments: operandsOf(leaf),
    flags: describeFlags(leaf.flags ?? {}),
    examples: leaf.examples.map(({ command, comment }) => ({ command, comment: comment ?? null })),
    changes: leaf.changes ?? false,
    idempotent: leaf.idempotent ?? false,
  }
}

/**
 * Describes flags for scripts: `value` is null for a switch, `unless` names a flag that can replace this one, and the
 * flag requires one of `needs`.
 */
export function describeFlags(flags: Flags) {
  return Object.entries(flags).map(([name, flag]) => {
    const other = flag.unless ?? flag.needed?.unless
    return {
      flag: dashed(name),
      letter: flag.letter === undefined ? null : `-${flag.letter}`,
      value: flag.value ?? null,
      summary: flag.summary,
      choices: flag.choices ?? null,
      repeatable: flag.repeatable ?? false,
      required: isRequired(flag) || flag.needed !== undefined,
      unless: other === undefined ? null : dashed(other),
      conflicts: conflictsOf(flags, name).map(dashed),
      needs: (flag.needs ?? []).map(dashed),
    }
  })
}

const dashed = (name: string) => `--${name}`
