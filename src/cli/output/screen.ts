import type { Zone } from '../host/host.js'
import type { Paint } from './colour.js'

/** How text for people shows times. */
export interface Times {
  /** Current time in ms, from which relative times are computed. */
  readonly now: number
  readonly zone: Zone
}

export interface Screen extends Times {
  readonly paint: Paint
  /** Columns of the terminal; undefined without a terminal or with --wide. */
  readonly width: number | undefined
}
