import { serverRegistryDir } from '../../../files/data-dir.js'
import type { RunningServer } from '../../../server/options.js'
import type { Context } from '../../command/context.js'
import { type Leaf, leaf } from '../../command/leaf.js'
import { failureOfServer } from '../../failures/codes.js'
import type { Failure } from '../../failures/failure.js'
import { toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { readSeedFile, seedFlag } from '../server/seed.js'
import type { Tool } from './tool.js'

/** @param guides names of the guides, which are resources */
export const serve = (guides: readonly string[]): Leaf =>
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
      if (context.host.stdin.isTTY) context.output.notice('An MCP client starts this command. Ctrl-C ends it.')
      if (context.dryRun) return context.plan('serve tools to an MCP client on stdin and stdout')
      const started = flags.seed === undefined ? undefined : await startOwnServer(context, flags.seed)
      if (started !== undefined && 'code' in started) return started
      try {
        const { serveTools } = await import('./protocol.js')
        const { tools } = await import('./tools.js')
        const session = {
          context,
          allowWrite: flags['allow-write'],
          ownServer: started?.baseUrl,
          running: new Set<Promise<unknown>>(),
        }
        await serveTools(session, offered(tools, context), guides)
      } finally {
        await started?.close()
      }
      return { ok: true, printed: true }
    },
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
