import type { Entry } from './activity-log.js'

// Their bodies, which name the record, may not be captured: a call about any bot or chat counts.

const ofBots =
  /^(webhook\.(set|setByBot|delete)|platform\.\w+(Bot|Webhook)|bots\.(get|update|regenerateToken)|apps\.\w+Bot)$/
const ofChats = /^(my_chat_member|platform\.(createChat|(un)?blockChat))$/

/** True for a call after which some bot may have changed. */
export const changesSomeBot = ({ type }: Entry): boolean => ofBots.test(type)

/** True for a call or a delivery after which some chat may have begun, or may be blocked. */
export const changesSomeChat = ({ type }: Entry): boolean => ofChats.test(type)
