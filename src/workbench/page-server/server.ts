import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { refuse } from '../../contract/errors.js'
import { listenOnLoopback } from '../../files/loopback-port.js'
import { Inspector } from '../../inspector/inspector.js'
import { servePage } from '../../inspector/node-http.js'
import type { RequestEvent } from '../listener.js'
import { ActivityFeed } from './activity-feed.js'
import { iso } from './inbox-records.js'
import { type PageRouteOptions, PageRoutes, send } from './routes.js'

export interface ListenerPage {
  /** Creates a link that opens the page once. */
  newLink(): string
  /** Shows a request in all open pages. */
  add(event: RequestEvent): void
  close(): Promise<void>
}

/**
 * Serves the page of a listener on a separate free port, because the listener accepts deliveries on every path
 * (rules/workbench.md#page-of-a-listener).
 */
export async function startListenerPage(options: PageRouteOptions): Promise<ListenerPage> {
  const feed = new ActivityFeed(options.secrets)
  const routes = new PageRoutes(options, feed)
  const started_at = iso(options.now())
  const { startCommand } = options
  const inspector = new Inspector({
    random: randomBytes,
    now: Date.now,
    sessions: { key: randomBytes(32).toString('hex') },
    features: { source: 'listener', test_clock: false, views: ['deliveries'], started_at },
    startCommand: startCommand === undefined ? undefined : () => startCommand,
  })
  const server = createServer(async (request, response) => {
    response.on('error', () => {})
    try {
      if (!(await servePage(inspector, request, response))) await routes.respond(request, response)
    } catch {
      if (!response.headersSent) send(response, refuse('INTERNAL_ERROR'))
      else response.destroy()
    }
  })
  inspector.listen(`http://127.0.0.1:${await listenOnLoopback(server)}`)
  return {
    newLink: () => inspector.newLink().url,
    add: (event) => feed.received(event),
    async close() {
      inspector.close()
      const closed = new Promise((resolve) => server.close(resolve))
      feed.close()
      server.closeAllConnections()
      await closed
    },
  }
}
