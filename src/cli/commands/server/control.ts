import { codeOf } from '../../../files/error-code.js'
import { isAlive } from '../../../files/process-alive.js'
import { leaf } from '../../command/leaf.js'
import { findLocalServer, type LocalServer } from '../../config/local-server.js'
import { identify, isReady } from '../../config/server-identity.js'
import { type Failure, fail } from '../../failure.js'
import type { Host } from '../../host/host.js'
import { dataFlag, serverFolder } from './folder.js'

/** Maximum wait for a server to stop: it finishes requests in flight within 10 s. */
const STOP_MS_MAX = 15_000
const POLL_MS = 50

type Status = { readonly running: boolean; readonly ready: boolean } & Partial<LocalServer>

export const status = leaf({
  name: 'status',
  summary: 'Show whether a local server runs; exits with 1 when none does',
  flags: dataFlag,
  examples: [{ command: 'voucherctl server status' }, { command: 'voucherctl server status --json --fields base_url' }],
  view: {
    headline: (it: Status) =>
      it.running
        ? `A server runs on ${it.base_url}${it.ready ? '' : ', but it is not ready'}.`
        : `No server runs in ${it.data_dir}.`,
    members: ['pid', 'store', 'data_dir', 'operator_key_file', 'started_at'],
    next: (it) => (it.running ? undefined : 'Start one: `voucherctl server start --detach`'),
  },
  run: async (context, { flags }) => {
    const folder = serverFolder(context, flags.data)
    if (!folder.ok) return folder
    const { dir } = folder
    const server = findLocalServer(dir)
    const identity = server === undefined ? 'other' : await identify(server)
    if (server === undefined || identity === 'other')
      return { ok: true, data: { running: false, ready: false, data_dir: dir }, exit: 1 }
    const { instance_id: _instance, process_start: _start, ...shown } = server
    return { ok: true, data: { running: true, ready: identity === 'same' && (await isReady(server)), ...shown } }
  },
})

interface StopReport {
  readonly stopped: boolean
  readonly pid: number | null
  readonly data_dir: string
  readonly base_url: string | null
}

export const stop = leaf({
  name: 'stop',
  summary: 'Stop the local server; it finishes what is in flight',
  flags: dataFlag,
  examples: [{ command: 'voucherctl server stop' }],
  changes: true,
  view: {
    headline: (it: StopReport) =>
      it.stopped
        ? `The server on ${it.base_url} has stopped. Its data is in ${it.data_dir}.`
        : `No server runs in ${it.data_dir}.`,
    members: ['pid'],
  },
  run: async (context, { flags }) => {
    const { host } = context
    const folder = serverFolder(context, flags.data)
    if (!folder.ok) return folder
    const { dir } = folder
    const server = findLocalServer(dir)
    if (server === undefined) return { ok: true, data: { stopped: false, pid: null, data_dir: dir, base_url: null } }
    const { pid, base_url: baseUrl } = server
    if (context.dryRun) return context.plan(`stop process ${pid}, the server of ${dir} on ${baseUrl}`)
    // Systems reuse PIDs: stop the process only if the server responds with the instance id from server.json.
    if ((await identify(server)) !== 'same') {
      return fail(
        'SERVER_STOP_FAILED',
        `Process ${pid} does not answer on ${server.base_url} as the server of ${dir}.`,
        `If it is a voucherctl server, end it yourself; else remove server.json in ${dir}.`,
      )
    }
    return (
      (await terminate(host, server)) ?? {
        ok: true,
        data: { stopped: true, pid, data_dir: dir, base_url: baseUrl },
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
