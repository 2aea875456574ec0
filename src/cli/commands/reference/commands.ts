import { describeFlags, describeLeaf, type LeafDescription, leavesOfEntries, listed } from '../../command/help.js'
import { type Entry, type Leaf, leaf } from '../../command/leaf.js'
import { globalFlags } from '../../flags/globals.js'

/** Creates the command `commands` for scripts (DECISIONS.md#commands). @param page entries of the first help page */
export const commands = (entries: readonly Entry[]): Leaf =>
  leaf({
    name: 'commands',
    summary: 'List every command with its flags',
    notes: [
      'With --json: `items`, a document for each command with its arguments, flags, examples, whether it `changes` something (--dry-run then shows what) and whether it carries an Idempotency-Key (`idempotent`); `global_flags` are those of every command. `help COMMAND --json` shows the same document of one command. Members are added, never renamed.',
    ],
    examples: [
      { command: 'voucherctl commands' },
      { command: 'voucherctl commands --json' },
      { command: 'voucherctl commands -o csv --fields command,changes,summary' },
    ],
    view: { body: ({ items }: { items: readonly LeafDescription[] }) => listed(items) },
    run: async () => {
      const items = (await leavesOfEntries(entries)).map(([names, it]) => describeLeaf(it, names))
      return { ok: true, data: { items, global_flags: describeFlags(globalFlags) } }
    },
  })
