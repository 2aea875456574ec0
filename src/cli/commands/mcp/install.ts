import { leaf } from '../../command/leaf.js'
import { usage } from '../../failures/failure.js'
import { text, toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { clients, configurationOf, entryOf, pathOf, writeEntry } from './clients.js'

export const install = leaf({
  name: 'install',
  summary: "Print a client's configuration for `mcp serve`, or write it",
  notes: ['The file is that of the project in the working folder, so that all who work on it have the tools.'],
  positional: { name: 'CLIENT', summary: 'The client', ask: 'Client', choices: clients },
  flags: {
    write: toggle("Merge it into the client's file; other entries stay"),
    installed: toggle('Start this installation, instead of `npx -y voucherctl`'),
    seed: text('FILE', 'Seed of a server in memory, for `mcp serve --seed`'),
  },
  examples: [{ command: 'voucherctl mcp install claude --write' }, { command: 'voucherctl mcp install vscode' }],
  changes: true,
  view: { headline: () => 'The client has the tools now.', members: ['path'] },
  run: async ({ host, globals, plan, output, dryRun }, { positional, flags }): Promise<Outcome<{ path: string }>> => {
    const client = clients.find((it) => it === positional)
    if (client === undefined) return usage(`There is no client '${positional}'.`, `It is one of ${clients.join(', ')}.`)
    if (flags.seed === '-')
      return usage('--seed cannot be standard input: the client starts the command.', 'Name a file.')
    const { profile } = globals
    const entry = entryOf(host, { seed: flags.seed, profile, isInstalled: flags.installed })
    const path = pathOf(host, client)
    if (dryRun) return plan(flags.write ? `write ${path}` : 'print the configuration')
    if (!flags.write) {
      output.printBytes(Buffer.from(`${JSON.stringify(configurationOf(client, entry), null, 2)}\n`))
      return { ok: true, printed: true }
    }
    return writeEntry(host, client, entry) ?? { ok: true, data: { path } }
  },
})
