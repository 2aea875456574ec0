import type { Fault } from '../../../../contract/platform/controls.js'
import { faultSentence } from '../../../../contract/platform/fault-sentence.js'
import { Heading, Loaded } from '../../components.js'
import { makeCall } from '../../make-call.js'
import type { PlannedCall } from '../../model/planned-call.js'
import { FaultForm } from './fault-form.js'
import { HeldCalls } from './held-calls.js'

/** A form for any fault, the calls that are held, and the active faults. */
export function FaultsView() {
  return (
    <article>
      <Heading>Faults</Heading>
      <p class="quiet">They disturb calls and deliveries on purpose, so that you see whether your app copes.</p>
      <FaultForm />
      <HeldCalls />
      <h2>Now on</h2>
      <Loaded path="/faults" on={['faults']} view={listed} />
    </article>
  )
}

function listed({ items }: { readonly items: readonly Fault[] }) {
  const change = (call: PlannedCall) => makeCall(call, 'The faults changed.')
  if (items.length === 0) return <p class="empty">No fault is on.</p>
  return (
    <>
      <ul class="rows">
        {items.map((fault) => (
          <li>
            <span>
              {faultSentence(fault)}
              {fault.left !== fault.times && <small class="quiet"> {`${fault.left} of ${fault.times} left`}</small>}
            </span>
            <button
              class="small"
              aria-label={`Remove: ${faultSentence(fault)}`}
              onClick={() => change({ endpoint: 'platform.removeFault', input: { faultId: fault.id } })}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <button onClick={() => change({ endpoint: 'platform.clearFaults', input: {} })}>Remove all</button>
    </>
  )
}
