import type { Group } from '../group.js'
import type { Probe } from '../probe.js'
import { bots } from './bots/index.js'
import { callers } from './callers/index.js'
import { calls } from './calls/index.js'
import { encryption } from './encryption/index.js'
import { vouchers } from './vouchers/index.js'
import { webhooks } from './webhooks/index.js'

const byGroup: Readonly<Record<Group, readonly Probe[]>> = { calls, callers, vouchers, bots, webhooks, encryption }

/** All probes in execution order. */
export const allProbes = Object.entries(byGroup).flatMap(([group, probes]) =>
  probes.map((probe) => ({ ...probe, group: group as Group })),
)
