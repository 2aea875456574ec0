import type { Probe } from '../../probe.js'

export const callers: readonly Probe[] = []
