import { contract } from '../../../contract/index.js'
import { isLoopbackHost } from '../../../values/loopback.js'
import { type Define, probesOf } from '../../probe.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { deliveryRule, newEvent, removeWebhook, setWebhook, target, webhook } from './hook.js'
import { polled } from './polled.js'

const HOST = 'hooks.conform.example'

const LENGTH_MAX = 2_048

type Refused = readonly [name: string, what: string, url: string]

const specifiedTexts: readonly Refused[] = [
  ['http', 'with the scheme http', `http://${HOST}/x`],
  ['other-scheme', 'with the scheme ftp', `ftp://${HOST}/x`],
]

const otherTexts: readonly Refused[] = [
  ['user-name', 'with a user name', `https://user@${HOST}/x`],
  ['password', 'with a password', `https://user:password@${HOST}/x`],
  ['empty-user', 'with an empty user name', `https://@${HOST}/x`],
  ['fragment', 'with a fragment', `https://${HOST}/x#y`],
  ['port-80', 'with port 80', `https://${HOST}:80/x`],
  ['port-1023', 'with port 1023', `https://${HOST}:1023/x`],
  ['length-of-2049', 'of 2,049 characters', `https://${HOST}/`.padEnd(LENGTH_MAX + 1, 'x')],
]

const changedTexts: readonly Refused[] = [
  ['tab', 'with a tab', `https://${HOST}/x\ty`],
  ['line-feed', 'with a line feed', `https://${HOST}\n/x`],
  ['backslash', 'with a backslash', `https://${HOST}\\x`],
]

const ipv4 = (ip: string): Refused => [`ipv4-${ip.replaceAll('.', '-')}`, ip, `https://${ip}/x`]
const ipv6 = (ip: string): Refused => {
  const name = ip.replaceAll(/[:.]+/g, '-').replaceAll(/^-|-$/g, '') || '0'
  return [`ipv6-${name}`, ip, `https://[${ip}]/x`]
}

const specifiedHosts: readonly Refused[] = [
  ...['10.1.2.3', '127.0.0.2', '169.254.169.254', '172.16.0.1', '192.168.0.1'].map(ipv4),
  ['decimal', '10.1.2.3 as one number', 'https://167838211/x'],
  ['hexadecimal', '10.1.2.3 in hexadecimal', 'https://0x0a.0x01.0x02.0x03/x'],
  ['octal', '10.1.2.3 in octal', 'https://012.1.2.3/x'],
  ...['::ffff:10.1.2.3', 'fc00::1', 'fe80::1'].map(ipv6),
]

const localNames: readonly Refused[] = [
  ['local', '*.local', 'https://printer.local/x'],
  ['internal', '*.internal', 'https://db.internal/x'],
  ['single-label', 'of a single label', 'https://intranet/x'],
  ['final-dot', '*.local with a final dot', 'https://printer.local./x'],
]

const otherHosts: readonly Refused[] = [
  ...['0.0.0.1', '100.64.0.1', '192.0.0.1', '192.0.2.1', '192.31.196.1', '192.52.193.1', '192.88.99.1'].map(ipv4),
  ...['192.175.48.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1'].map(ipv4),
  ipv4('255.255.255.255'),
  ...['::', '64:ff9b::a01:203', 'ff02::1', '2001::1', '2001:db8::1', '2002:a01:203::1', '3fff::1'].map(ipv6),
  ipv6('2620:4f:8000::1'),
]

/** Hosts that a platform with a receiver on its own machine may allow. */
const loopback: readonly Refused[] = [
  ['localhost', 'localhost', 'https://localhost/x'],
  ['ipv4-loopback', '127.0.0.1', 'https://127.0.0.1/x'],
  ['ipv6-loopback', '::1', 'https://[::1]/x'],
]

/** Sets a webhook with a URL that the platform should refuse; deletes the webhook if it was accepted. */
async function trySet(run: ProbeContext, url: string): Promise<Observed> {
  const bot = await target(run)
  const response = await run.call(contract.webhook.set, { botId: bot.botId, url })
  if (response.isSuccess) {
    bot.isSet = false
    bot.wasSet = true
    await removeWebhook(run, bot.botId, true)
  }
  needsNoPoll(run, response)
  return response
}

/** Ends the probe if the call conflicts with a held poll, which says nothing about the URL. */
function needsNoPoll(run: ProbeContext, { status }: Observed): void {
  if (status === 409) run.notApplicable('Needs a bot that is not polled: status 409.')
}

const refusedUrl = async (it: ProbeContext, url: string) => it.refuses(await trySet(it, url), 400)

const needs = ['jwt', 'bot id'] as const
const probe = probesOf('webhook-urls', { needs })
const webhookProbe = probe.with({ needs: ['jwt', 'bot id', 'webhook'] })
const pollingProbe = probe.with({ needs: ['jwt', 'bot', 'bot id', 'webhook'], waitsMs: 2_500 })
const delivering = probe.with(deliveryRule)

const isRefused =
  (rule: number, place: 'URL' | 'on the host', define: Define) =>
  ([name, what, url]: Refused) =>
    define(rule, name, `A webhook ${place} ${what} is refused with 400.`, async (it) => refusedUrl(it, url))

export const webhookUrls = [
  ...specifiedTexts.map(isRefused(1, 'URL', probe.partly)),
  ...otherTexts.map(isRefused(2, 'URL', probe)),
  ...changedTexts.map(isRefused(3, 'URL', probe)),
  ...specifiedHosts.map(isRefused(1, 'on the host', probe.partly)),
  ...localNames.map(isRefused(3, 'on the host', probe)),
  ...otherHosts.map(isRefused(4, 'on the host', probe)),
  probe(3, 'host-code', 'A refused host has the code WEBHOOK_URL_REFUSED.', async (run) => {
    const response = await trySet(run, 'https://printer.local/x')
    run.refuses(response, 400, 'WEBHOOK_URL_REFUSED')
  }),
  ...loopback.map(([name, what, url]) =>
    probe.partly(1, name, `A webhook on ${what} is refused with 400.`, async (run) => {
      const { receiver } = run.resources.offer
      if (receiver !== undefined && isLoopbackHost(new URL(receiver.url).hostname.replace(/^\[|\]$/g, ''))) {
        run.notApplicable('Needs a platform that does not deliver to its own machine.')
      }
      await refusedUrl(run, url)
    }),
  ),
  webhookProbe(2, 'length-of-2048', 'A webhook URL of 2,048 characters is accepted.', async (run) => {
    const { url } = await webhook(run)
    run.accepts(await setWebhook(run, { url: `${url}/`.padEnd(LENGTH_MAX, 'x') }))
  }),
  probe(4, 'unresolved-name', 'A host whose name cannot be resolved is accepted.', async (run) => {
    const bot = await target(run)
    bot.isSet = false
    bot.wasSet = true
    const url = `https://${run.resources.name()}.invalid/x`
    const response = await run.call(contract.webhook.set, { botId: bot.botId, url })
    run.needs(await removeWebhook(run, bot.botId, true), 'a deleted webhook')
    needsNoPoll(run, response)
    run.accepts(response)
  }),
  webhookProbe(2, 'shown-url', 'Records do not show the path of a webhook.', async (run) => {
    const { end, url } = await webhook(run)
    const shown = run.needs(await setWebhook(run), 'a webhook').url ?? ''
    const { host } = new URL(url)
    run.holds(shown.includes(host) && !shown.includes(end), 'scheme and host alone', shown)
  }),
  pollingProbe(3, 'url-before-conflict', 'While a poll is held, a refused URL is 400.', async (run) => {
    run.refuses((await polled(run)).badUrl, 400)
  }),
  delivering(5, 'redirect', 'A redirect of a receiver is not followed.', async (run) => {
    const own = await webhook(run)
    const end = `${own.end}-redirected`
    await newEvent(run, own, () => ({ status: 307, headers: { location: own.receiver.url + end } }))
    const [followed] = await own.receiver.wait(end, 1, 300)
    run.holds(followed === undefined, 'no request to the new location', 'a request to the new location')
  }),
]
