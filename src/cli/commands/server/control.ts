import { codeOf } from '../../../files/error-code.js'
import { isAlive } from '../../../files/process-alive.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { findRunningServers, identify, isGone, isReady, type LocalServer, namesOf } from '../../config/local-server.js'
import { isGivenForCall } from '../../config/settings.js'
import { type Failure, fail, suggested } from '../../failures/failure.js'
import type { Host } from '../../host/host.js'
import { rows } from '../../output/text.js'
import { dataFlag, findServer, type Place, type ServerLookup } from './folder.js'

/** Maximum wait for a server to stop: it finishes requests in flight within 10 s. */
const STOP_MS_MAX = 15_000
const POLL_MS = 50

type Status = { readonly running: boolean; readonly ready: boolean } & (Place | LocalServer)

/** Members of server.json that are shown to users. */
const shownOf = ({
  instance_id: _id,
  store_id: _store,
  proof_key: _key,
  process_start: _start,
  ...shown
}: LocalServer) => shown

const noServer = ({ data_dir, base_url }: Place) =>
  data_dir ? `No server runs in ${data_dir}.` : `No local server runs on ${base_url}.`

export const status = leaf({
  name: 'status',
  summary: 'Show whether a local server runs; exits with 1 when none does',
  alsoCalls: { 'health.live': '', 'health.ready': '' },
  flags: dataFlag,
  needsBaseUrl: (given) => !given.has('data'),
  examples: ['voucherctl server status', 'voucherctl server status --json --fields base_url'],
  view: {
    headline: (status: Status) =>
      status.running
        ? `The server of ${status.data_dir} runs on ${status.base_url}${status.ready ? '' : ', but it is not ready'}.`
        : noServer(status),
    members: ['pid', 'store', 'database', 'operator_key_file', 'started_at'],
    next: ({ running, data_dir: dir }) =>
      running || !dir || isGone(dir) ? undefined : `Start one: ${suggested`server start --detach --data ${dir}`}`,
  },
  run: async (context, { flags }) => {
    const found = findOrNameOthers(context, flags.data)
    if (!found.ok) return found
    const { data_dir, base_url, server } = found
    const identity = server === undefined ? 'other' : await identify(server)
    if (server === undefined || identity === 'other')
      return { ok: true, data: { running: false, ready: false, data_dir, base_url }, exit: 1 }
    return {
      ok: true,
      data: { running: true, ready: identity === 'same' && (await isReady(server)), ...shownOf(server) },
    }
  },
})

// A copy: the data of a view throws for an absent member.
const lineOf = ({ ...it }: LocalServer) => `${it.database ?? it.store} with ${it.data_dir} (process ${it.pid})`

/**
 * Finds the server as `findServer` does. If the line names none and none runs in the folder, `server status` takes the
 * only one that runs elsewhere, such as one in memory; of several, the user must choose.
 */
function findOrNameOthers(context: Context, data: string | undefined): ServerLookup | Failure {
  const found = findServer(context, data)
  const { host, settings, output, line } = context
  const isNamed = data !== undefined || isGivenForCall(settings.profileName)
  if (isNamed || !found.ok || found.base_url !== null || found.server !== undefined) return found
  const others = findRunningServers(host, settings.config)
  const [first, second] = others
  const verb = line.path.at(-1) ?? ''
  const only = verb === 'status' && second === undefined ? first : undefined
  const taken = only === undefined ? found : { ...found, data_dir: only.data_dir, server: only }
  // Without a base URL, no other command calls a different server, so no warning is needed.
  if (first === undefined || (only !== undefined && settings.baseUrl.value === undefined)) return taken
  const how = only ? '' : ` To choose one: ${suggested`server ${verb} --base-url ${first.base_url}`}`
  output.warn(`No server runs in ${found.data_dir}. Elsewhere runs ${namesOf(others)}.${how}`)
  return taken
}

interface RunningServers {
  readonly items: readonly (ReturnType<typeof shownOf> & { readonly ready: boolean })[]
}

export const list = leaf({
  name: 'list',
  summary: 'List the local servers that run, of any data folder and in memory',
  notes: ['It lists the servers that `voucherctl server start` has started for you on this machine.'],
  needsBaseUrl: () => false,
  examples: ['voucherctl server list', 'voucherctl server list --json --fields base_url,data_dir'],
  view: {
    body: ({ items }: RunningServers) => rows(items.map((it) => [it.base_url, lineOf(it)])).join('\n'),
    next: ({ items }: RunningServers) =>
      items.length > 0 ? undefined : 'Start one: `voucherctl server start --detach`',
  },
  run: async ({ host, settings }) => {
    const servers = findRunningServers(host, settings.config)
    const known = await Promise.all(servers.map(async (it) => ({ it, identity: await identify(it) })))
    const running = known.filter(({ identity }) => identity !== 'other')
    const items = await Promise.all(
      running.map(async ({ it, identity }) => ({
        ...shownOf(it),
        ready: identity === 'same' && (await isReady(it)),
      })),
    )
    return { ok: true, data: { items } }
  },
})

interface StopReport extends Place {
  readonly stopped: boolean
  readonly pid: number | null
}

export const stop = leaf({
  name: 'stop',
  summary: 'Stop the local server; it finishes what is in flight',
  flags: dataFlag,
  needsBaseUrl: () => false,
  examples: ['voucherctl server stop'],
  changes: true,
  view: {
    headline: (report: StopReport) =>
      report.stopped
        ? `The server on ${report.base_url} has stopped. Its data folder is ${report.data_dir}.`
        : noServer(report),
    members: ['pid'],
  },
  run: async (context, { flags }) => {
    const { host } = context
    const found = findOrNameOthers(context, flags.data)
    if (!found.ok) return found
    const { data_dir, base_url, server } = found
    if (server === undefined) return { ok: true, data: { stopped: false, pid: null, data_dir, base_url }, reads: true }
    const { pid, base_url: baseUrl } = server
    if (context.dryRun) return context.plan(`stop process ${pid}, the server of ${data_dir} on ${baseUrl}`)
    // Systems reuse PIDs: stop the process only if the server responds with the instance id from server.json.
    if ((await identify(server)) !== 'same') {
      return fail(
        'SERVER_STOP_FAILED',
        `Process ${pid} does not respond on ${server.base_url} as the server of ${data_dir}.`,
        `If it is a voucherctl server, end it yourself; else remove server.json in ${data_dir}.`,
      )
    }
    return (
      (await terminate(host, server)) ?? {
        ok: true,
        data: { stopped: true, pid, data_dir, base_url: baseUrl },
      }
    )
  },
})

export async function terminate(host: Host, { pid }: Pick<LocalServer, 'pid'>): Promise<Failure | undefined> {
  try {
    process.kill(pid, 'SIGTERM')
  } catch (error) {
    return fail(
      'SERVER_STOP_FAILED',
      `Process ${pid} cannot be stopped (${codeOf(error)}).`,
      'It may belong to another user.',
    )
  }
  const endsAt = host.now() + STOP_MS_MAX
  while (isAlive(pid)) {
    if (host.now() > endsAt || host.signal.aborted)
      return fail('SERVER_STOP_FAILED', `Process ${pid} has not ended yet.`, 'See its log.')
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  return undefined
}
