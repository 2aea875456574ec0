import type { Probe } from '../../probe.js'

export const vouchers: readonly Probe[] = []
