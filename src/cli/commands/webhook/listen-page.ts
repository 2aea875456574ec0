import type { PageRouteOptions } from '../../../workbench/page-server/routes.js'
import type { ListenerPage } from '../../../workbench/page-server/server.js'
import type { Context } from '../../command/context.js'
import { needing, toggle } from '../../flags/flags.js'

export const pageFlags = {
  open: toggle('Show the deliveries on a page in the browser'),
  'no-browser': needing(toggle('Print the link, and do not open it'), 'open'),
}

/** Starts the page of a listener, prints and opens its link as `open` does (rules/workbench.md#page-of-a-listener). */
export async function openPage(
  { host, output }: Context,
  flags: { readonly 'no-browser': boolean },
  options: PageRouteOptions,
): Promise<ListenerPage> {
  // Import on demand: few listeners serve the page.
  const { startListenerPage } = await import('../../../workbench/page-server/server.js')
  const page = await startListenerPage(options)
  const link = page.newLink()
  output.notice(`Page: ${link}\nThe link opens one tab, within two minutes.`)
  if (!flags['no-browser'] && host.stdout.isTTY === true) {
    const { openBrowser } = await import('../open/browser.js')
    if (!(await openBrowser(host, link))) output.notice('No program opens a browser here.')
  }
  return page
}
