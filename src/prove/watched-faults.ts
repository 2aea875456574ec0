import type { Refusal } from '../contract/errors.js'
import { type FaultedCall, Faults } from '../server/faults.js'

type Work<T> = () => Promise<T | Refusal>

/** Faults of a server whose calls are watched from their arrival on. */
export class WatchedFaults extends Faults {
  watch: <T>(endpoint: string, call: FaultedCall, work: Work<T>) => Promise<T | Refusal> = (_endpoint, _call, work) =>
    work()

  override run<T>(endpoint: string, enter: (work: Work<T>) => Promise<T | Refusal>, work: Work<T>, call: FaultedCall) {
    return this.watch(endpoint, call, () => super.run(endpoint, enter, work, call))
  }
}
