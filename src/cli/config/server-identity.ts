import { createHttpTransport } from '../../client/http.js'
import { type Failure, fail } from '../failure.js'
import { parseObject } from '../host/parse-object.js'
import { isSameProcess, type LocalServer } from './local-server.js'
import type { Settings } from './settings.js'

/** Who responds: `same` is the server that wrote server.json, `other` is another one, `silent` means a timeout. */
type Identity = 'same' | 'other' | 'silent'

const PROBE_MS = 2_000

/**
 * Identifies the server at the address in server.json. Systems reuse PIDs and ports, so only the instance id, which a
 * server makes at its start, tells it from others.
 */
export async function identify({ base_url, instance_id }: LocalServer): Promise<Identity> {
  const body = await get(base_url, '/healthz')
  if (body === undefined) return 'silent'
  const data = parseObject(body.text)?.data as { instanceId?: unknown } | null | undefined
  return typeof instance_id === 'string' && data?.instanceId === instance_id ? 'same' : 'other'
}

/**
 * Refuses to send a credential to an address from server.json if another process may listen there: the file can outlive
 * its server. If the system does not identify the process, this costs a call for the instance id.
 */
export async function refuseImpostor(
  { localServer: server }: Pick<Settings, 'localServer'>,
  baseUrl: string,
): Promise<Failure | undefined> {
  if (server === undefined || server.base_url !== baseUrl || isSameProcess(server) === true) return undefined
  if ((await identify(server)) === 'same') return undefined
  return fail(
    'LOCAL_SERVER_NOT_RUNNING',
    `What answers on ${baseUrl} is not the server of ${server.data_dir}, or no server answers.`,
    'Start one with `voucherctl server start --detach`, or name one with --base-url URL.',
  )
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
