import { serverRegistryDir } from '../../../files/data-dir.js'
import type { Context } from '../../command/context.js'
import { type Leaf, leaf } from '../../command/leaf.js'
import { usage } from '../../failures/failure.js'
import { list, text, toggle } from '../../flags/flags.js'
import { credentialVariables } from '../../host/secrets.js'
import { agentEnvironment, isCredential } from '../../mcp/agent-access.js'
import type { Outcome } from '../../output/outcome.js'

/** @param guides names of the guides, which are resources */
export const serve = (guides: readonly string[]): Leaf =>
  leaf({
    name: 'serve',
    summary: 'Serve tools to an MCP client on stdin and stdout',
    notes: [
      'A client starts this command; `voucherctl mcp install` writes its configuration. Tools use the server that other commands use. They change only a server on this machine, unless --allow-write, and nothing with a production profile.',
    ],
    flags: {
      seed: text('FILE', 'Start a server in memory with these records; it ends with the client'),
      'allow-write': toggle('Let tools change a server on another machine'),
      prove: list('COMMAND', 'Command line of a program that the tool prove may start'),
      env: list('NAME', 'Variable that scenarios of tools may use besides VOUCHERCTL_…'),
    },
    examples: [
      { command: 'voucherctl mcp serve' },
      { command: 'voucherctl mcp serve --seed seed.yaml', comment: 'With its own server' },
    ],
    run: async (context, { flags }): Promise<Outcome<unknown>> => {
      if (context.host.stdin.isTTY) context.output.notice('An MCP client starts this command. Ctrl-C ends it.')
      if (context.dryRun) return context.plan('serve tools to an MCP client on stdin and stdout')
      const { env } = context.host
      const wrong = flags.env
        .find((it) => !/^[A-Za-z_]\w*$/.test(it) || isCredential(it, env[it]))
        ?.replace(/=.*/s, '=…')
      if (wrong !== undefined) return usage(`--env ${wrong} must be a variable without a credential.`, 'Leave it out.')
      const ownServer = flags.seed === undefined ? undefined : await startOwnServer(context, flags.seed)
      if (ownServer !== undefined && 'code' in ownServer) return ownServer
      try {
        context.host.endsWith?.('SIGTERM')
        const { serveTools } = await import('../../mcp/protocol.js')
        const running = new Set<Promise<unknown>>()
        const referable = agentEnvironment(env, flags.env)
        await serveTools(
          { context, allowWrite: flags['allow-write'], programs: flags.prove, referable, ownServer, running },
          guides,
        )
      } finally {
        await ownServer?.close()
      }
      return { ok: true, printed: true }
    },
  })

async function startOwnServer({ host }: Context, file: string) {
  if (file === '-') return usage('--seed cannot be standard input, which carries the protocol.', 'Name a file.')
  const { readSeedFile } = await import('../../server/seed-file.js')
  const read = await readSeedFile(host, file)
  if (!read.ok) return read
  const { startServer } = await import('../../../server/listen.js')
  try {
    const { baseUrl, close } = await startServer({
      memory: true,
      port: 0,
      seed: read.seed,
      testClock: true,
      inspect: true,
      logLevel: 'silent',
      registryDir: serverRegistryDir(host),
      webhookLoopbackOnly: true,
    })
    const { credentialsOf } = await import('../server/env.js')
    const credentials: Partial<Record<string, string>> = credentialsOf(read.seed)
    // A credential of the environment is for another server.
    const own = Object.entries(credentialVariables).map(([kind, name]) => [name, credentials[kind]])
    return { baseUrl, close, env: { ...host.env, ...Object.fromEntries(own) } }
  } catch (error) {
    const { failureOfServer } = await import('../../failures/codes.js')
    return failureOfServer(error)
  }
}
