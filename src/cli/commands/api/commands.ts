/** Commands whose name is not that of the route, or that need a flag to take it. */
const commands: Readonly<Record<string, string | null>> = {
  'bots.templates': 'templates list --bot',
  'bots.createTemplate': 'templates create --bot',
  'bots.submitTemplate': 'templates submit --bot',
  'bots.issue': 'vouchers issue --chat',
  'webhook.setByBot': null,
  'platform.issueAccountToken': 'login --local',
  'platform.approveTemplate': 'platform templates approve',
  'platform.rejectTemplate': 'platform templates reject',
  'platform.suspendApp': 'platform apps suspend',
  'platform.reinstateApp': 'platform apps reinstate',
  'platform.setAppFeatures': 'platform apps features',
  'platform.approveBot': 'platform bots approve',
  'platform.rejectBot': 'platform bots reject',
  'platform.disableBot': 'platform bots disable',
  'platform.enableBot': 'platform bots enable',
  'platform.addUpdate': 'platform bots add-update',
  'platform.createChat': 'platform users start',
  'platform.chats': 'platform chats list',
  'platform.messages': 'platform chats messages',
  'platform.sendAsUser': 'platform users send',
  'platform.blockChat': 'platform users block',
  'platform.unblockChat': 'platform users unblock',
  'platform.secureKeys': 'server keys list',
  'platform.rotateSecureKeys': 'server keys rotate',
  'platform.getClock': 'platform clock show',
  'platform.setClock': 'platform clock set',
  'platform.advanceClock': 'platform clock advance',
  'platform.addFault': 'platform faults add',
  'platform.clearFaults': 'platform faults clear',
  'platform.requests': 'server logs',
  'secure.dispatch': 'secure call',
  'health.live': 'server status',
  'health.ready': 'server status',
  'health.metrics': null,
}

/** The command that calls a route, null where there is none: `apps.linkBot` is `apps link-bot`. */
export function commandOf(id: string): string | null {
  const named = commands[id]
  if (named !== undefined) return named
  return id.replace('.', ' ').replace(/[A-Z]/g, (it) => `-${it.toLowerCase()}`)
}
