import type { Probe } from '../../probe.js'

export const encryption: readonly Probe[] = []
