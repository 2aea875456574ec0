import type { Probe } from '../../probe.js'
import { botMetrics } from './bot-metrics.js'
import { botRecords, regeneratedTokens } from './bot-records.js'
import { botStates } from './bot-states.js'
import { messages } from './messages.js'
import { polling } from './polling.js'
import { updates, updateTypeProbes } from './updates.js'

export const bots: readonly Probe[] = [
  ...botRecords,
  ...botStates,
  ...botMetrics,
  ...messages,
  ...updates,
  ...updateTypeProbes,
  ...polling,
  ...regeneratedTokens,
]
