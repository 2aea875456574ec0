import * as apps from './apps.js'
import type { Endpoint } from './endpoint.js'
import * as platform from './platform.js'
import * as templates from './templates.js'
import * as tokens from './tokens.js'
import * as vouchers from './vouchers.js'

/** Every endpoint that the server answers, by group and name: the name of its handler and of its command. */
export const contract = {
  apps: { list: apps.list, create: apps.create, get: apps.get, update: apps.update },
  tokens: { list: tokens.list, create: tokens.create, revoke: tokens.revoke },
  templates: { list: templates.list, create: templates.create, submit: templates.submit },
  vouchers: {
    issue: vouchers.issue,
    verify: vouchers.verify,
    redeem: vouchers.redeem,
    redemption: vouchers.getRedemption,
    reverse: vouchers.reverse,
  },
  platform: {
    issueAccountToken: platform.issueAccountToken,
    reviews: platform.reviews,
    approveTemplate: platform.approveTemplate,
    rejectTemplate: platform.rejectTemplate,
    suspendApp: platform.suspendApp,
    reinstateApp: platform.reinstateApp,
    setAppFeatures: platform.setAppFeatures,
    getClock: platform.getClock,
    setClock: platform.setClock,
    advanceClock: platform.advanceClock,
    addFault: platform.addFault,
    clearFaults: platform.clearFaults,
    requests: platform.requests,
  },
} as const satisfies Record<string, Record<string, Endpoint>>

export type Contract = typeof contract

/** All endpoints in one list. */
export const endpoints: readonly Endpoint[] = Object.values(contract).flatMap((group) => Object.values(group))
