import type { Context } from '../../command/context.js'
import { type Entry, type Leaf, leaf } from '../../command/leaf.js'
import { leavesOfEntries } from '../../command/tree.js'
import { readOperatorKey } from '../../config/local-server.js'
import { failureOfServer } from '../../failures/codes.js'
import { type Failure, fail } from '../../failures/failure.js'
import { toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import type { ScenarioInbox } from '../../scenario/inbox.js'
import { PROFILE, type StartedServer, startKeptServer } from './kept-server.js'
import { asTyped, StepPrinter } from './step-printer.js'
import { Walkthrough } from './walkthrough.js'

/** The scenario, which `voucherctl help quickstart.yaml` prints. */
const FILE = 'src/guides/quickstart.yaml'

const flags = {
  keep: toggle(`Leave the server running, with its credentials in the profile ${PROFILE}`),
  'no-pause': toggle('Do not wait for a key after each step'),
}

/** @param entries nodes of the command tree */
export const quickstart = (entries: readonly Entry[]): Leaf =>
  leaf({
    name: 'quickstart',
    summary: 'A real voucher from start to end, on a throwaway local server',
    notes: [
      'Starts a server on a free port with its data in a temporary folder, issues, verifies, redeems and reverses a voucher over HTTP, once through the encrypted transport, lets a bot deliver another in a chat and a webhook hear of it, shows the command of each step, and removes everything at the end. On a terminal it waits for a key after each step.',
      `With --keep the server and its data stay, and the profile ${PROFILE} holds the credentials.`,
      'The steps are a scenario file: `voucherctl help quickstart.yaml` prints it, and `voucherctl scenario run` takes a copy.',
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
        return await runWalkthrough(context, started, receiver, new StepPrinter(context, !noPause), entries)
      } catch (error) {
        return failureOfServer(error)
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
  printer: StepPrinter,
  entries: readonly Entry[],
): Promise<Outcome<unknown>> {
  const { output, host } = context
  const startedAt = host.now()
  let failure: Failure | undefined
  let isKept = false
  try {
    failure = await runSteps(context, server, receiver, printer, entries)
    isKept = failure === undefined && server.keep !== undefined
  } finally {
    if (!isKept) await server.remove()
  }
  if (failure !== undefined) return failure
  const durationMs = host.now() - startedAt - printer.pausedMs
  const next = isKept
    ? [
        `voucherctl open -p ${PROFILE}`,
        `voucherctl server logs -p ${PROFILE}`,
        'voucherctl help first-steps',
        `voucherctl server stop -p ${PROFILE}`,
      ]
    : ['voucherctl quickstart --keep --no-pause', `voucherctl open -p ${PROFILE}`, 'voucherctl help first-steps']
  const { steps } = printer
  if (!printer.isPrinting)
    return { ok: true, data: { base_url: server.facts.baseUrl, steps, duration_ms: durationMs, next } }
  const paint = await output.paint()
  const end = isKept ? `the server stays on ${server.facts.baseUrl}` : 'the server and its data are gone'
  output.say(`\n${paint.done('✓')} ${steps.length} steps in ${(durationMs / 1000).toFixed(1)} s; ${end}.\n`)
  output.say(isKept ? 'Go on with it:' : 'To keep such a server, see it in the browser, and read the guide:')
  for (const command of next) output.say(paint.hint(`  $ ${asTyped(host.env, command)}`))
  return { ok: true, printed: true }
}

async function runSteps(
  context: Context,
  { facts: { baseUrl, dataDir, operatorKeyFile }, keep }: StartedServer,
  receiver: ScenarioInbox,
  printer: StepPrinter,
  entries: readonly Entry[],
): Promise<Failure | undefined> {
  const { parseScenario } = await import('../../scenario/parse.js')
  // Routes, inputs and expressions of the package's own file need no check at run time.
  const parsed = parseScenario(context.host.document(FILE), FILE, [], await import('yaml'))
  if (!parsed.ok) throw new Error(`${FILE} is not a scenario`)
  const { steps, teardown } = parsed.scenario
  const operatorKey = readOperatorKey({ operator_key_file: operatorKeyFile })
  if (operatorKey === undefined) return fail('UNEXPECTED', 'The server wrote no operator key.')
  const result = `${baseUrl}, with a database in ${dataDir}`
  const command = 'voucherctl server start --detach'
  await printer.show({ title: 'A server', command, result, call: null, status: null, exit: 0 })
  const { JqThread } = await import('../../output/jq.js')
  const jq = new JqThread()
  try {
    const leaves = await leavesOfEntries(entries)
    const run = new Walkthrough(context, printer, { baseUrl, operatorKey, receiver, leaves, jq })
    // The receiver ends with the command, so remove the webhook of a kept server: without one the bot can be polled.
    const all = keep === undefined ? steps : [...steps, ...teardown]
    return (await run.run(all)) ?? (await keep?.(run.environment))
  } finally {
    jq.close()
  }
}
