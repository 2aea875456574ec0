import type { Probe } from '../../probe.js'
import { bodies } from './bodies.js'
import { connections } from './connections.js'
import { envelope } from './envelope.js'
import { failureCodes } from './failure-codes.js'
import { lists } from './lists.js'
import { orderOfChecks } from './order-of-checks.js'
import { orderOfObjects } from './order-of-objects.js'
import { rateLimits } from './rate-limits.js'
import { ids, times, versions } from './small-rules.js'
import { text } from './text.js'
import { unknownMembers } from './unknown-members.js'

export const calls: readonly Probe[] = [
  ...envelope,
  ...orderOfChecks,
  ...orderOfObjects,
  ...failureCodes,
  ...lists,
  ...times,
  ...ids,
  ...text,
  ...bodies,
  ...unknownMembers,
  ...connections,
  ...rateLimits,
  ...versions,
]
