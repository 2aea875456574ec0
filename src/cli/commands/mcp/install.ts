import { leaf } from '../../command/leaf.js'
import { usage } from '../../failures/failure.js'
import { excluding, text, toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { clients, configurationOf, entryOf, isBelow, isOnPath, mergeEntry, pathOf, writeFile } from './clients.js'

export const install = leaf({
  name: 'install',
  summary: "Print a client's configuration for `mcp serve`, or write it",
  notes: [
    'The file is that of the project in the working folder, so that all who work on it have the tools: it has no path of this machine. An entry that exists keeps its other members, such as env; a change of its command is shown and confirmed.',
  ],
  positional: { name: 'CLIENT', summary: 'The client', ask: 'Client', choices: clients },
  flags: {
    write: toggle("Merge it into the client's file; other entries stay"),
    installed: excluding(toggle('Print paths of this machine, for a file of your own'), 'write'),
    seed: text('FILE', 'Seed of a server in memory, for `mcp serve --seed`'),
  },
  examples: [{ command: 'voucherctl mcp install claude --write' }, { command: 'voucherctl mcp install vscode' }],
  changes: true,
  view: { headline: () => 'The client has the tools now.', members: ['path'] },
  run: async (
    { host, globals, plan, output, dryRun, confirm },
    { positional, flags },
  ): Promise<Outcome<{ path: string }>> => {
    const client = clients.find((it) => it === positional)
    if (client === undefined) return usage(`There is no client '${positional}'.`, `It is one of ${clients.join(', ')}.`)
    if (flags.seed === '-')
      return usage('--seed cannot be standard input: the client starts the command.', 'Name a file.')
    const { seed, write, installed } = flags
    if (seed !== undefined && !installed && !isBelow(host.cwd, seed))
      return usage(
        '--seed must name a file below the working folder, because others have the file of the client too.',
        'Copy it there, or print an entry for a file of your own with --installed.',
      )
    const entry = entryOf(host, client, { seed, profile: globals.profile, isInstalled: installed })
    const path = pathOf(host, client)
    if (entry.command === 'voucherctl' && !isOnPath(host))
      output.warn('voucherctl is not on PATH, where the client looks for it: `npm install --global .` in its clone.')
    if (!write) {
      if (dryRun) return plan('print the configuration')
      output.printBytes(Buffer.from(`${JSON.stringify(configurationOf(client, entry), null, 2)}\n`))
      return { ok: true, printed: true }
    }
    const change = mergeEntry(host, client, entry)
    if (!change.ok) return change
    if (dryRun) return plan(`write ${path}`)
    if (change.replaced !== undefined) {
      const loses = `It starts '${change.replaced}', and will start '${[entry.command, ...entry.args].join(' ')}'.`
      const refusal = await confirm({ action: `Changing the entry voucherctl of ${path}`, loses })
      if (refusal !== undefined) return refusal
    }
    // Read it again: it may have changed during the question.
    const merged = mergeEntry(host, client, entry)
    return merged.ok ? (writeFile(path, merged.content) ?? { ok: true, data: { path } }) : merged
  },
})
