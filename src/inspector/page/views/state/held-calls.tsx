import type { HeldCall } from '../../../../contract/platform/controls.js'
import { holdPlaces } from '../../../../contract/platform/fault-kinds.js'
import { callLater } from '../../attention.js'
import { Time, useRead } from '../../components.js'
import type { PlannedCall } from '../../model/planned-call.js'

/** Releases one held call or, without input, all. */
const release = (input: PlannedCall['input']) => callLater({ endpoint: 'platform.releaseCalls', input }, 'Released.')

/** The calls that the server holds, each with a button that lets it go on. */
export function HeldCalls() {
  const { result } = useRead<{ readonly held: readonly HeldCall[] }>('/faults', ['faults'])
  const held = result?.ok ? result.data.held : []
  if (held.length === 0) return null
  return (
    <section class="cause warn held" aria-label="Held calls">
      <h2>Held calls</h2>
      <ul class="rows">
        {held.map(({ request_id, endpoint, at, since }) => (
          <li key={request_id}>
            <span>
              <span class="code">{endpoint}</span> is held {holdPlaces[at]}, since <Time at={since} />
            </span>
            <button
              class="small"
              aria-label={`Release ${endpoint} ${request_id}`}
              onClick={() => release({ request_id })}
            >
              Release
            </button>
          </li>
        ))}
      </ul>
      {held.length > 1 && <button onClick={() => release({})}>Release all</button>}
    </section>
  )
}
