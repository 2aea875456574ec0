import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { failureOfServer } from '../../failures/codes.js'
import type { Failure } from '../../failures/failure.js'
import { toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import type { ScenarioInbox } from '../../scenario/inbox.js'
import { PROFILE, startKeptServer } from './kept-server.js'
import { runSteps } from './steps.js'
import { asTyped, type StartedServer, StepFailure, Walkthrough } from './walkthrough.js'

const flags = {
  keep: toggle(`Leave the server running, with its credentials in the profile ${PROFILE}`),
  'no-pause': toggle('Do not wait for a key after each step'),
}

export const quickstart = leaf({
  name: 'quickstart',
  summary: 'A real voucher from start to end, on a throwaway local server',
  notes: [
    'Starts a server on a free port with its data in a temporary folder, issues, verifies, redeems and reverses a voucher over HTTP, once through the encrypted transport, lets a bot deliver another in a chat and a webhook hear of it, shows the command of each step, and removes everything at the end. On a terminal it waits for a key after each step.',
    `With --keep the server and its data stay, and the profile ${PROFILE} holds the credentials.`,
  ],
  flags,
  examples: [
    'voucherctl quickstart',
    { command: 'voucherctl quickstart --keep --no-pause', comment: 'Go on with this server and its voucher' },
    'voucherctl quickstart --json',
  ],
  changes: true,
  run: async (context, { flags: { keep, 'no-pause': noPause } }): Promise<Outcome<unknown>> => {
    if (context.dryRun)
      return context.plan(
        `start a server in a ${keep ? 'new' : 'temporary'} folder, call it, and ${keep ? 'leave it running' : 'remove it'}`,
      )
    const { openInbox } = await import('../../scenario/inbox.js')
    const opened = await openInbox([200], 0)
    if (!opened.ok) return opened
    const receiver = opened.value
    try {
      const started = keep ? await startKeptServer(context, receiver.port) : await startThrowawayServer(receiver.port)
      if (!started.ok) return started
      return await runWalkthrough(context, started, receiver, !noPause)
    } catch (error) {
      return error instanceof StepFailure ? error.failure : failureOfServer(error)
    } finally {
      await receiver.close()
    }
  },
})

async function startThrowawayServer(webhookPort: number): Promise<StartedServer> {
  const { mkdtemp, rm } = await import('node:fs/promises')
  const { tmpdir } = await import('node:os')
  const { join } = await import('node:path')
  const { startServer } = await import('../../../server/listen.js')
  const dataDir = await mkdtemp(join(tmpdir(), 'voucherctl-quickstart-'))
  const removeData = () => rm(dataDir, { recursive: true, force: true })
  try {
    const server = await startServer({
      dataDir,
      port: 0,
      operator: true,
      logLevel: 'silent',
      webhookLoopbackPorts: [webhookPort],
    })
    return { ok: true, facts: server, remove: () => server.close().then(removeData) }
  } catch (error) {
    await removeData()
    throw error
  }
}

async function runWalkthrough(
  context: Context,
  server: StartedServer,
  receiver: ScenarioInbox,
  pauses: boolean,
): Promise<Outcome<unknown>> {
  const { output, host } = context
  const isForPeople = output.options.format === 'table'
  const startedAt = host.now()
  const walkthrough = new Walkthrough(context, server.facts.baseUrl, { isPrinted: isForPeople, pauses })
  let failure: Failure | undefined
  let isKept = false
  try {
    await runSteps(walkthrough, server.facts, receiver)
    failure = await server.keep?.(walkthrough)
    isKept = failure === undefined && server.keep !== undefined
  } finally {
    if (!isKept) await server.remove()
  }
  if (failure !== undefined) return failure
  const durationMs = host.now() - startedAt - walkthrough.pausedMs
  const next = isKept
    ? [
        `voucherctl open -p ${PROFILE}`,
        `voucherctl server logs -p ${PROFILE}`,
        'voucherctl help first-steps',
        `voucherctl server stop -p ${PROFILE}`,
      ]
    : ['voucherctl quickstart --keep --no-pause', `voucherctl open -p ${PROFILE}`, 'voucherctl help first-steps']
  const { steps } = walkthrough
  if (!isForPeople) return { ok: true, data: { base_url: server.facts.baseUrl, steps, duration_ms: durationMs, next } }
  const paint = await output.paint()
  const end = isKept ? `the server stays on ${server.facts.baseUrl}` : 'the server and its data are gone'
  output.say(`\n${paint.done('✓')} ${steps.length} steps in ${(durationMs / 1000).toFixed(1)} s; ${end}.\n`)
  output.say(isKept ? 'Go on with it:' : 'To keep such a server, see it in the browser, and read the guide:')
  for (const command of next) output.say(paint.hint(`  $ ${asTyped(host.env, command)}`))
  return { ok: true, printed: true }
}
