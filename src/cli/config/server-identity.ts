import { createHttpTransport } from '../../client/http.js'
import { parseObject } from './config.js'
import type { LocalServer } from './local-server.js'

/** `same`: the server that wrote the file answers; `other`: somebody else does; `silent`: nobody does in time. */
export type Identity = 'same' | 'other' | 'silent'

const PROBE_MS = 2_000

/**
 * Who answers at the address of a server.json. A process id and a port are given to others once a server has died,
 * so only the instance id that a server makes at its start tells it from them.
 */
export async function identify({ base_url, instance_id }: LocalServer): Promise<Identity> {
  const body = await get(base_url, '/healthz')
  if (body === undefined) return 'silent'
  const data = parseObject(body.text)?.data as { instanceId?: unknown } | null | undefined
  return typeof instance_id === 'string' && data?.instanceId === instance_id ? 'same' : 'other'
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
