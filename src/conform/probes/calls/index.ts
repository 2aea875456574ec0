import type { Probe } from '../../probe.js'
import { lists } from './lists.js'

export const calls: readonly Probe[] = [...lists]
