import type { RunningServer } from '../../../server/options.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { failureOfServer } from '../../failure.js'
import type { Outcome } from '../../output/outcome.js'
import type { ScenarioInbox } from '../scenario/runner/inbox.js'
import { runSteps } from './steps.js'
import { asTyped, Walkthrough } from './walkthrough.js'

export const quickstart = leaf({
  name: 'quickstart',
  summary: 'A real voucher from start to end, on a throwaway local server',
  notes: [
    'Starts a server on a free port with its data in a temporary folder, issues, verifies, redeems and reverses a voucher over HTTP, once through the encrypted transport, lets a bot deliver another in a chat and a webhook hear of it, shows the command of each step, and removes everything at the end. Nothing is asked and no profile is touched.',
  ],
  examples: [{ command: 'voucherctl quickstart' }, { command: 'voucherctl quickstart --json' }],
  changes: true,
  run: async (context): Promise<Outcome<unknown>> => {
    if (context.dryRun) return context.plan('start a server in a temporary folder, call it, and remove it')
    const { mkdtemp, rm } = await import('node:fs/promises')
    const { tmpdir } = await import('node:os')
    const { join } = await import('node:path')
    const dataDir = await mkdtemp(join(tmpdir(), 'voucherctl-quickstart-'))
    let server: RunningServer | undefined
    let receiver: ScenarioInbox | undefined
    try {
      const { openInbox } = await import('../scenario/runner/inbox.js')
      const opened = await openInbox([200], 0)
      if (!opened.ok) return opened
      receiver = opened.value
      const { startServer } = await import('../../../server/listen.js')
      server = await startServer({
        dataDir,
        port: 0,
        operator: true,
        logLevel: 'silent',
        webhookLoopbackPorts: [receiver.port],
      })
      return await runWalkthrough(context, server, receiver)
    } catch (error) {
      return failureOfServer(error)
    } finally {
      await server?.close()
      await receiver?.close()
      await rm(dataDir, { recursive: true, force: true })
    }
  },
})

async function runWalkthrough(
  context: Context,
  server: RunningServer,
  receiver: ScenarioInbox,
): Promise<Outcome<unknown>> {
  const { output, host } = context
  const isForPeople = output.options.format === 'table'
  const startedAt = host.now()
  const walkthrough = new Walkthrough(context, server.baseUrl, isForPeople)
  const failure = await runSteps(walkthrough, server, receiver)
  if (failure !== undefined) return failure
  const durationMs = host.now() - startedAt
  const next = [
    'voucherctl server start --detach',
    'voucherctl login --local --account demo',
    'voucherctl apps create --name "My shop"',
  ]
  if (!isForPeople) {
    return { ok: true, data: { base_url: server.baseUrl, steps: walkthrough.steps, duration_ms: durationMs, next } }
  }
  const paint = await output.paint()
  output.say(
    `\n${paint.done('✓')} ${walkthrough.steps.length} steps in ${(durationMs / 1000).toFixed(1)} s; the server and its data are gone.\n`,
  )
  output.say('A server of your own, that stays:')
  for (const command of next) output.say(paint.hint(`  $ ${asTyped(host.env, command)}`))
  return { ok: true, printed: true }
}
