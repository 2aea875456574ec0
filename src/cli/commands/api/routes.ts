import { type ApiRoute, knownRoutes } from '../../command/known-routes.js'
import { leaf } from '../../command/leaf.js'

/** A route in the output of `api routes`. */
type ListedRoute = ReturnType<typeof listedOf>

export const routes = leaf({
  name: 'routes',
  summary: 'List every route with its credential, scope and command',
  positional: { name: 'WORD', summary: 'Only routes that contain this text, such as redeem, jwt or DELETE' },
  examples: ['voucherctl api routes', 'voucherctl api routes vouchers:issue --json'],
  view: {
    body: ({ items }: { readonly items: readonly ListedRoute[] }) =>
      items.length === 0 ? 'No route contains that text.' : items.map(linesOf).join('\n'),
  },
  run: async (_context, { positional }) => {
    const listed = (await knownRoutes()).map(listedOf)
    const word = positional?.toLowerCase()
    const says = (it: ListedRoute) => word === undefined || Object.values(it).join(' ').toLowerCase().includes(word)
    return { ok: true, data: { items: listed.filter(says) } }
  },
})

/** Formats a route on one line. It never truncates the path, which users search for. */
function linesOf({ method, path, credential, scope, idempotency_key, command }: ListedRoute): string {
  const caller = scope === null ? credential : `${credential} ${scope}`
  const key = idempotency_key === null ? '' : ', Idempotency-Key'
  const by = command === null ? '' : `, voucherctl ${command}`
  return `${method.padEnd(METHOD_WIDTH)}${path}\n${' '.repeat(METHOD_WIDTH)}${caller}${key}${by}`
}

const METHOD_WIDTH = 8

function listedOf({ id, summary, method, path, caller, scope, idempotent }: ApiRoute) {
  return {
    method,
    path,
    credential: caller,
    scope: scope ?? null,
    idempotency_key: idempotent === undefined ? null : idempotent === true ? 'required' : 'optional',
    id,
    summary,
    command: commandOf(id),
  }
}

/** Command of each route whose name does not tell it; null if no command calls the route. */
const commands: Readonly<Record<string, string | null>> = {
  'bots.templates': 'templates list --bot',
  'bots.createTemplate': 'templates create --bot',
  'bots.submitTemplate': 'templates submit --bot',
  'bots.issue': 'vouchers issue --chat',
  'webhook.setByBot': null,
  'platform.issueAccountToken': 'login --local',
  'platform.setAppFeatures': 'platform apps features',
  'platform.addUpdate': 'platform bots add-update',
  'platform.createChat': 'platform users start',
  'platform.messages': 'platform chats messages',
  'platform.sendAsUser': 'platform users send',
  'platform.blockChat': 'platform users block',
  'platform.unblockChat': 'platform users unblock',
  'platform.secureKeys': 'server keys list',
  'platform.rotateSecureKeys': 'server keys rotate',
  'platform.getClock': 'platform clock show',
  'platform.setClock': 'platform clock set',
  'platform.advanceClock': 'platform clock advance',
  'platform.forecast': 'platform clock forecast',
  'platform.clearFaults': 'platform faults clear',
  'platform.borrowWebhook': 'webhook listen --bot BOT',
  'platform.returnWebhook': 'webhook listen --bot BOT',
  'platform.requests': 'server logs',
  'platform.openPage': 'open',
  'platform.recordScenario': 'scenario record --from activity',
  'platform.reference': null,
  'platform.applications': 'platform apps list',
  'platform.voucher': 'platform vouchers show',
  'platform.findVoucher': 'platform vouchers show --code',
  'platform.delivery': 'platform deliveries show',
  'platform.replayDelivery': 'platform deliveries replay',
  'platform.template': 'platform templates show',
  'platform.callAsApp': null,
  'platform.showCredentials': null,
  'platform.seedStore': null,
  'secure.dispatch': 'secure call',
  'health.live': 'server status',
  'health.ready': 'server status',
  'health.metrics': null,
}

/** Finds the command that calls a route, such as `apps link-bot` for `apps.linkBot`; null if there is none. */
export function commandOf(id: string): string | null {
  const named = commands[id]
  if (named !== undefined) return named
  return id
    .replace(/^(platform)\.(bots|chats|faults|snapshots|templates|vouchers|deliveries)$/, '$1 $2 list')
    .replace(
      /^(platform)\.([a-z]+)(App|Bot|Fault|Snapshot|Template)$/,
      (_, group, verb, noun) => `${group} ${noun.toLowerCase()}s ${verb}`,
    )
    .replace('.', ' ')
    .replace(/[A-Z]/g, (it) => `-${it.toLowerCase()}`)
}
