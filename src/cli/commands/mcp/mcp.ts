import { serverRegistryDir } from '../../../files/data-dir.js'
import type { RunningServer } from '../../../server/options.js'
import type { Context } from '../../command/context.js'
import { type Group, leaf } from '../../command/leaf.js'
import { failureOfServer } from '../../failures/codes.js'
import { type Failure, usage } from '../../failures/failure.js'
import { toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { readSeedFile, seedFlag } from '../server/seed.js'
import { clients, configurationOf, entryOf, pathOf, writeEntry } from './install.js'
import type { Tool } from './tool.js'

/** @param guides names of the guides, which are resources */
export const mcp = (guides: readonly string[]): Group => ({
  name: 'mcp',
  summary: 'Tools for models over the Model Context Protocol: serve, install, tools',
  commands: [
    leaf({
      name: 'serve',
      summary: 'Serve tools to an MCP client on stdin and stdout',
      notes: [
        'A client starts this command; `voucherctl mcp install` writes its configuration. Tools use the server that other commands use. They change only a server on this machine, unless --allow-write, and nothing with a production profile.',
      ],
      flags: {
        seed: { ...seedFlag.seed, summary: 'Start a server in memory with these records; it ends with the client' },
        'allow-write': toggle('Let tools change a server on another machine'),
      },
      examples: [
        { command: 'voucherctl mcp serve' },
        { command: 'voucherctl mcp serve --seed seed.yaml', comment: 'With a server of its own' },
      ],
      run: async (context, { flags }): Promise<Outcome<unknown>> => {
        if (context.dryRun) return context.plan('serve tools to an MCP client on stdin and stdout')
        const started = flags.seed === undefined ? undefined : await startOwnServer(context, flags.seed)
        if (started !== undefined && 'code' in started) return started
        try {
          const { serve } = await import('./protocol.js')
          const { tools } = await import('./tools.js')
          const session = { context, allowWrite: flags['allow-write'], ownServer: started?.baseUrl }
          await serve(session, offered(tools, context), guides)
        } finally {
          await started?.close()
        }
        return { ok: true, printed: true }
      },
    }),
    leaf({
      name: 'install',
      summary: "Print a client's configuration for `mcp serve`, or write it",
      notes: ['The file is that of the project in the working folder, so that all who work on it have the tools.'],
      positional: { name: 'CLIENT', summary: 'The client', ask: 'Client', choices: clients },
      flags: {
        write: toggle("Merge it into the client's file; other entries stay"),
        installed: toggle('Start this installation, instead of `npx -y voucherctl`'),
        seed: { ...seedFlag.seed, summary: 'Seed of a server in memory, for `mcp serve --seed`' },
      },
      examples: [{ command: 'voucherctl mcp install claude --write' }, { command: 'voucherctl mcp install vscode' }],
      changes: true,
      view: { headline: () => 'The client has the tools now.', members: ['path'] },
      run: async (
        { host, globals, plan, output, dryRun },
        { positional, flags },
      ): Promise<Outcome<{ path: string }>> => {
        const client = clients.find((it) => it === positional)
        if (client === undefined)
          return usage(`There is no client '${positional}'.`, `It is one of ${clients.join(', ')}.`)
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
    }),
    leaf({
      name: 'tools',
      summary: 'List the tools that `mcp serve` offers',
      examples: [
        { command: 'voucherctl mcp tools' },
        { command: 'voucherctl mcp tools --json', comment: 'With schemas' },
      ],
      view: { members: ['name', 'effect', 'title'] },
      run: async (): Promise<Outcome<unknown>> => {
        const { tools } = await import('./tools.js')
        const items = tools.map(({ name, title, effect, isIdempotent, description, input, output }) => {
          return { name, title, effect, idempotent: isIdempotent, description, input, output }
        })
        return { ok: true, data: { items } }
      },
    }),
  ],
})

/** The tools of a session: with a production profile only those that can read. */
const offered = (tools: readonly Tool[], { settings }: Context): readonly Tool[] =>
  settings.production.value ? tools.filter((it) => it.effect === 'reads' || it.effect === 'either') : tools

/** Ports from which applications on this machine may receive the webhooks of the session's own server. */
const FIRST_PORT = 1_024
const PORTS = 65_536

async function startOwnServer({ host }: Context, file: string): Promise<RunningServer | Failure> {
  const read = await readSeedFile(host, file)
  if (!read.ok) return read
  const { startServer } = await import('../../../server/listen.js')
  try {
    return await startServer({
      memory: true,
      port: 0,
      seed: read.seed,
      testClock: true,
      inspect: true,
      logLevel: 'silent',
      registryDir: serverRegistryDir(host),
      webhookLoopbackPorts: Array.from({ length: PORTS - FIRST_PORT }, (_, i) => FIRST_PORT + i),
    })
  } catch (error) {
    return failureOfServer(error)
  }
}
