import { relative, resolve } from 'node:path'
import { leaf } from '../../command/leaf.js'
import { usage } from '../../failures/failure.js'
import { excluding, text, toggle } from '../../flags/flags.js'
import { clients, configurationOf, entryOf, isOnPath, mergeEntry, pathOf, writeFile } from '../../mcp/clients.js'
import type { Outcome } from '../../output/outcome.js'

export const install = leaf({
  name: 'install',
  summary: "Print a client's configuration for `mcp serve`, or write it",
  notes: ['The file belongs to the project in the working folder, so that all who work on it have the tools.'],
  positional: { name: 'CLIENT', summary: 'The client', ask: 'Client', choices: clients },
  flags: {
    write: toggle("Merge it into the client's file; asks before it changes a command, and keeps all else"),
    installed: excluding(toggle('Print paths of this machine, for a file that only you use'), 'write'),
    seed: text('FILE', 'Seed of a server in memory, for `mcp serve --seed`'),
  },
  examples: [{ command: 'voucherctl mcp install claude --write' }, { command: 'voucherctl mcp install vscode' }],
  changes: true,
  view: { headline: () => 'The client has the tools now.', members: ['path'] },
  run: async (context, { positional, flags }): Promise<Outcome<{ path: string }>> => {
    const { host, output } = context
    const client = clients.find((it) => it === positional)
    if (client === undefined) return usage(`There is no client '${positional}'.`, `It is one of ${clients.join(', ')}.`)
    if (flags.seed === '-')
      return usage('--seed cannot be standard input: the client starts the command.', 'Name a file.')
    const { seed, write, installed } = flags
    if (seed !== undefined && !installed && relative(host.cwd, resolve(host.cwd, seed)).startsWith('..'))
      return usage('--seed must be below the working folder: others use the client file too.', 'Or add --installed.')
    const entry = entryOf(host, client, { seed, profile: context.globals.profile, isInstalled: installed })
    const path = pathOf(host, client)
    if (context.dryRun) return context.plan(write ? `write ${path}` : 'print the configuration')
    if (entry.command === 'voucherctl' && !isOnPath(host))
      output.warn(
        'voucherctl is not on PATH, so the client cannot start it: `npm install --global --prefix ~/.local .` in its clone, with ~/.local/bin on PATH.',
      )
    if (!write) {
      output.printBytes(Buffer.from(`${JSON.stringify(configurationOf(client, entry), null, 2)}\n`))
      return { ok: true, printed: true }
    }
    const merged = mergeEntry(host, client, entry)
    if (!merged.ok) return merged
    if (merged.replaced !== undefined) {
      const loses = `It starts '${merged.replaced}', and will start '${[entry.command, ...entry.args].join(' ')}'.`
      const refusal = await context.confirm({ action: `Changing the entry voucherctl of ${path}`, loses })
      if (refusal !== undefined) return refusal
    }
    return writeFile(path, merged.content) ?? { ok: true, data: { path } }
  },
})
