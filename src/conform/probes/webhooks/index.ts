import type { Probe } from '../../probe.js'

export const webhooks: readonly Probe[] = []
