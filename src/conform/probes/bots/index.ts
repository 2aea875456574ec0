import type { Probe } from '../../probe.js'

export const bots: readonly Probe[] = []
