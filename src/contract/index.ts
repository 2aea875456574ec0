import { apps } from './apps.js'
import { bots } from './bots.js'
import type { Endpoint } from './endpoint.js'
import { platformActing } from './platform/acting.js'
import { platformActivity } from './platform/activity.js'
import { platformControls } from './platform/controls.js'
import { platformDeliveries } from './platform/deliveries.js'
import { platformOverview } from './platform/overview.js'
import { platform } from './platform/platform.js'
import { platformReference } from './platform/reference.js'
import { platformVouchers } from './platform/voucher-history.js'
import { templates } from './templates.js'
import { tokens } from './tokens.js'
import { vouchers } from './vouchers.js'
import { webhook } from './webhook.js'

/** Every endpoint of the server by group and name; its handler has the same group and name. */
export const contract = {
  apps,
  tokens,
  templates,
  vouchers,
  bots,
  webhook,
  platform: {
    ...platform,
    ...platformControls,
    ...platformActivity,
    ...platformVouchers,
    ...platformDeliveries,
    ...platformReference,
    ...platformActing,
    ...platformOverview,
  },
} as const satisfies Record<string, Record<string, Endpoint>>

export type Contract = typeof contract

/** Id of an endpoint, such as `vouchers.redeem`. */
export type EndpointId = { [G in keyof Contract]: Contract[G][keyof Contract[G]] }[keyof Contract]['id']

/** All endpoints of `contract` as one list. */
export const endpoints: readonly Endpoint[] = Object.values(contract).flatMap((group) => Object.values(group))

const byId: ReadonlyMap<string | null, Endpoint> = new Map(endpoints.map((it) => [it.id, it]))

/** Finds an endpoint; undefined outside of `contract`, such as for a health check. */
export const endpointOf = (id: string | null): Endpoint | undefined => byId.get(id)
