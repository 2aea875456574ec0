import { parseBaseUrl } from '../../../client/base-url.js'
import type { OutputOf } from '../../../contract/endpoint.js'
import { platformActivity } from '../../../contract/platform/activity.js'
import { isLoopbackHost } from '../../../values/loopback.js'
import type { Context } from '../../command/context.js'
import { type Leaf, leaf } from '../../command/leaf.js'
import { restartHint, startHint } from '../../command/local-advice.js'
import { findServerNamed } from '../../config/local-server.js'
import { type Failure, fail, suggested, usage } from '../../failures/failure.js'
import { toggle } from '../../flags/flags.js'

type Link = OutputOf<typeof platformActivity.openPage>

export const open: Leaf = leaf({
  name: 'open',
  summary: 'Open the page of a local server in the browser',
  alsoCalls: { 'platform.openPage': '' },
  notes: [
    'The page shows requests, deliveries, vouchers, reviews, faults and the test clock of a server on this machine. The command prints a link, and opens it if stdout is a terminal.',
    'The link works once, for two minutes, and for one tab: anyone who opens it controls the server as its operator. That tab opens others with a middle click; for a tab elsewhere, run the command again.',
  ],
  positional: { name: 'view', summary: 'View as its address has it below the page, such as /vouchers' },
  flags: { 'no-browser': toggle('Print the link, and do not open it') },
  examples: ['voucherctl open', 'voucherctl open /vouchers', 'voucherctl open --no-browser'],
  output: platformActivity.openPage.output,
  view: {
    body: (it: Link) => it.url,
    key: 'url',
    next: () => 'The link opens one tab, within two minutes.',
  },
  run: async (context, { flags, positional: view = '' }) => {
    if (viewAt(PAGE, view) === undefined)
      return usage(`${view} is not a view of the page.`, 'Name its address below the page, such as /vouchers.')
    const base = context.baseUrl()
    if (!base.ok) return base
    const refusal = refuseWithoutPage(context, base.value)
    if (refusal !== undefined) return refusal
    const result = await context.call(platformActivity.openPage, {})
    if (!result.ok) return 'plan' in result ? result : explain(context, base.value, result)
    const url = linkOf(result.data.url, view)
    if (url === undefined) {
      return fail('INVALID_RESPONSE', `${base.value} named a page that is not on this machine.`, 'Check the base URL.')
    }
    if (!flags['no-browser'] && context.host.stdout.isTTY === true) {
      const { openBrowser } = await import('./browser.js')
      if (!(await openBrowser(context.host, url))) context.output.notice('No program opens a browser here.')
    }
    return { ...result, data: { ...result.data, url } }
  },
})

/** Refuses, without a call, a server that is known to have no page. */
function refuseWithoutPage(context: Context, baseUrl: string): Failure | undefined {
  const { host, settings } = context
  const local = findServerNamed(host, settings.config, baseUrl)
  if (local?.operator_key_file === null) return withoutOperator(context, baseUrl)
  // A server that listens on all interfaces can also be reached at a loopback address.
  const { hostname, secure } = parseBaseUrl(local?.base_url ?? baseUrl)
  if (!secure && isLoopbackHost(hostname)) return undefined
  if (local === undefined) {
    return fail(
      'INVALID_INPUT',
      `${baseUrl} is not a server on this machine, so it has no page.`,
      'Start a server here: `voucherctl server start --detach`. Then name its URL with --base-url.',
    )
  }
  return pageOff(`Other machines can reach the server on ${baseUrl}, so it has no page.`, restartHint(context, ''))
}

const withoutOperator = (context: Context, baseUrl: string) =>
  pageOff(
    `The server on ${baseUrl} runs without the operator API, so it has no page.`,
    restartHint(context, ' --operator on') ??
      'Stop it, then start it: `voucherctl server start --detach --operator on`.',
  )

/** The failure that a server without a page returns, with a reason that is known on this machine. */
const pageOff = (message: string, hint: string | undefined): Failure => ({
  ...fail('INVALID_INPUT', message, hint ?? null),
  code: 'PAGE_OFF',
})

/** Adds the command that starts a server with a page to the failure. */
async function explain(context: Context, baseUrl: string, failure: Failure): Promise<Failure> {
  const { code } = failure
  if (code === 'ROUTE_NOT_FOUND') return withoutOperator(context, baseUrl)
  const { hint } = failure
  const start = suggested`server start --detach --port ${String(parseBaseUrl(baseUrl).port)}`
  if (code === 'CREDENTIAL_REQUIRED') return { ...failure, hint: `${hint} If no server runs there: ${start}.` }
  if (code !== 'NETWORK_ERROR') return failure
  return { ...failure, hint: (await startHint(context)) ?? `Start a server there: ${start}.` }
}

/** Link to a view of a server, for another program to open; undefined for a URL that is not http or https. */
function linkOf(text: string, view: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  // URL parsing drops or encodes control characters and spaces.
  const page = new URL(text)
  if (page.protocol !== 'http:' || !isLoopbackHost(page.hostname)) return undefined
  const shown = viewAt(page.origin + page.pathname, view)
  return shown && shown.href + page.hash
}

/** Stands for the address of the page before the call. */
const PAGE = 'http://127.0.0.1/_platform/ui/'

/** Address of a view; undefined outside the page, or with a fragment, which is the place of the ticket. */
function viewAt(page: string, view: string): URL | undefined {
  const url = new URL(page + view.replace(/^\//, ''))
  return url.href.startsWith(page) && !view.includes('#') ? url : undefined
}
