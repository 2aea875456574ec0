import * as apps from './apps.js'
import * as bots from './bots.js'
import type { Endpoint } from './endpoint.js'
import * as activity from './platform/activity.js'
import * as controls from './platform/controls.js'
import * as deliveries from './platform/deliveries.js'
import * as platform from './platform/platform.js'
import * as voucherHistory from './platform/voucher-history.js'
import * as templates from './templates.js'
import * as tokens from './tokens.js'
import * as vouchers from './vouchers.js'
import * as webhook from './webhook.js'

/** Every endpoint of the server by group and name; its handler has the same group and name. */
export const contract = {
  apps: {
    list: apps.list,
    create: apps.create,
    get: apps.get,
    update: apps.update,
    linkBot: apps.linkBot,
    unlinkBot: apps.unlinkBot,
  },
  tokens: { list: tokens.list, create: tokens.create, revoke: tokens.revoke },
  templates: { list: templates.list, create: templates.create, submit: templates.submit },
  vouchers: {
    issue: vouchers.issue,
    verify: vouchers.verify,
    redeem: vouchers.redeem,
    redemption: vouchers.getRedemption,
    reverse: vouchers.reverse,
  },
  bots: {
    apply: bots.apply,
    list: bots.list,
    get: bots.get,
    update: bots.update,
    regenerateToken: bots.regenerateToken,
    metrics: bots.metrics,
    templates: bots.templates,
    createTemplate: bots.createTemplate,
    submitTemplate: bots.submitTemplate,
    issue: bots.issue,
    send: bots.send,
    updates: bots.updates,
  },
  webhook: {
    set: webhook.set,
    setByBot: webhook.setByBot,
    delete: webhook.remove,
    info: webhook.info,
    deliveries: webhook.deliveries,
    retry: webhook.retry,
  },
  platform: {
    issueAccountToken: platform.issueAccountToken,
    reviews: platform.reviews,
    approveTemplate: platform.approveTemplate,
    rejectTemplate: platform.rejectTemplate,
    suspendApp: platform.suspendApp,
    reinstateApp: platform.reinstateApp,
    applications: platform.applications,
    templates: platform.templates,
    totals: platform.countTotals,
    setAppFeatures: platform.setAppFeatures,
    approveBot: platform.approveBot,
    rejectBot: platform.rejectBot,
    disableBot: platform.disableBot,
    enableBot: platform.enableBot,
    addUpdate: platform.addUpdate,
    createChat: platform.createChat,
    chats: platform.chats,
    messages: platform.messages,
    sendAsUser: platform.sendAsUser,
    blockChat: platform.blockChat,
    unblockChat: platform.unblockChat,
    secureKeys: platform.secureKeys,
    rotateSecureKeys: platform.rotateSecureKeys,
    getClock: controls.getClock,
    setClock: controls.setClock,
    advanceClock: controls.advanceClock,
    forecast: controls.forecastClock,
    faults: controls.faults,
    addFault: controls.addFault,
    removeFault: controls.removeFault,
    clearFaults: controls.clearFaults,
    snapshots: controls.snapshots,
    saveSnapshot: controls.saveSnapshot,
    restoreSnapshot: controls.restoreSnapshot,
    removeSnapshot: controls.removeSnapshot,
    reset: controls.reset,
    requests: platform.requests,
    openPage: platform.openPage,
    activity: activity.activity,
    vouchers: voucherHistory.vouchers,
    voucher: voucherHistory.showVoucher,
    findVoucher: voucherHistory.findVoucher,
    deliveries: deliveries.deliveries,
    delivery: deliveries.showDelivery,
    replayDelivery: deliveries.replayDelivery,
  },
} as const satisfies Record<string, Record<string, Endpoint>>

export type Contract = typeof contract

/** All endpoints of `contract` as one list. */
export const endpoints: readonly Endpoint[] = Object.values(contract).flatMap((group) => Object.values(group))
