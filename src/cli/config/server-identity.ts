import { createHttpTransport } from '../../client/http.js'
import { type Failure, fail } from '../failures/failure.js'
import { parseObject } from '../host/parse-object.js'
import { isSameProcess, type LocalServer } from './local-server.js'
import { originOf } from './project-permission.js'
import type { Settings } from './settings.js'

/** Who responds at an address: `same` is the server that wrote server.json; `silent` means that nobody responds. */
type Identity = 'same' | 'other' | 'silent'

const PROBE_MS = 2_000

/**
 * Identifies the server at the address from server.json by its instance id, which the server creates at start. PID and
 * port are not enough, because systems reuse both.
 */
export async function identify({ base_url, instance_id }: LocalServer): Promise<Identity> {
  const body = await get(base_url, '/healthz')
  if (body === undefined) return 'silent'
  const data = parseObject(body.text)?.data as { instanceId?: unknown } | null | undefined
  return typeof instance_id === 'string' && data?.instanceId === instance_id ? 'same' : 'other'
}

/**
 * Refuses to send a credential to an address from server.json if another process may listen there, because the file may
 * remain after its server ended. On systems that do not report a process's start, this check makes a call.
 */
export async function refuseImpostor(
  { localServer: server }: Pick<Settings, 'localServer'>,
  baseUrl: string,
): Promise<Failure | undefined> {
  if (server === undefined || originOf(server.base_url) !== originOf(baseUrl) || isSameProcess(server) === true)
    return undefined
  if ((await identify(server)) === 'same') return undefined
  return fail(
    'LOCAL_SERVER_NOT_RUNNING',
    `No server responds on ${baseUrl}, or it is not the server of ${server.data_dir}.`,
    'Start one with `voucherctl server start --detach`, or name one with --base-url URL.',
  )
}

/** True if no server responds at a base URL. */
export async function isSilent(baseUrl: string): Promise<boolean> {
  return (await get(baseUrl, '/healthz')) === undefined
}

export async function isReady({ base_url }: LocalServer): Promise<boolean> {
  return (await get(base_url, '/readyz'))?.status === 200
}

async function get(baseUrl: string, path: string): Promise<{ status: number; text: string } | undefined> {
  try {
    const { status, body } = await createHttpTransport(baseUrl)({
      method: 'GET',
      path,
      headers: {},
      timeoutMs: PROBE_MS,
    })
    return { status, text: body }
  } catch {
    return undefined
  }
}
