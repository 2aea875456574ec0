import type { Dispatcher } from 'undici'
import connect from 'undici/lib/api/api-connect.js'
import Client from 'undici/lib/dispatcher/client.js'
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js'

/** Creates the connections of a pool to servers with TLS, in tunnels through an HTTP proxy. */
export function tunnels(
  uri: string,
  authorization: string | undefined,
  settings: { readonly connections: number },
): Dispatcher {
  return new ProxyAgent({
    uri,
    ...(authorization === undefined ? {} : { token: authorization }),
    ...settings,
    // The main file of undici, which is not loaded here, would add this method.
    clientFactory: (origin, options) => Object.assign(new Client(origin, options), { connect }),
  })
}
