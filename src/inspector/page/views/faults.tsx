import { useState } from 'preact/hooks'
import type { Fault } from '../../../contract/platform/controls.js'
import { faultKinds, faultTable } from '../../../contract/platform/fault-kinds.js'
import { Heading, Loaded } from '../components.js'
import { faultSentence } from '../model/fault-sentence.js'
import { act } from './act.js'
import { FaultForm } from './fault-form.js'

const shares = [0.01, 0.05, 0.2, 0.5, 1]
/** Endpoints that always have switches; others have them only with a fault. */
const usual = ['vouchers.redeem', 'vouchers.issue', 'vouchers.verify', 'vouchers.reverse', 'bots.issue']

type Change = readonly [method: string, path: string, body: object]

const remove = (id: string): Change => ['DELETE', `/faults/${id}`, {}]

/** A form for any fault, the active faults, and switches for usual ones. */
export function FaultsView() {
  return (
    <article>
      <Heading>Faults</Heading>
      <p class="quiet">They disturb calls of your app on purpose, so that you see whether it copes.</p>
      <Loaded path="/faults" on={['faults', 'reset']} view={listed} />
    </article>
  )
}

function listed({ items }: { readonly items: readonly Fault[] }, reload: () => void) {
  const change = async (...changes: readonly Change[]) => {
    for (const it of changes) await act(...it, 'The faults changed.')
    reload()
  }
  return (
    <>
      <FaultForm added={reload} />
      <h2>Now on</h2>
      <ul class="rows">
        {items.map((fault) => (
          <li>
            <span>{faultSentence(fault)}</span>
            <button
              class="small"
              aria-label={`Remove: ${faultSentence(fault)}`}
              onClick={() => change(remove(fault.id))}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      {items.length ? (
        <button onClick={() => change(['DELETE', '/faults', {}])}>Remove all</button>
      ) : (
        <p class="empty">No fault is on.</p>
      )}
      <h2>Switches</h2>
      <div class="switches">
        {[...new Set([...usual, ...items.map((it) => it.endpoint)])].map((name) => (
          <Switches key={name} endpoint={name} faults={items} change={change} />
        ))}
      </div>
    </>
  )
}

interface SwitchesProps {
  readonly endpoint: string
  readonly faults: readonly Fault[]
  /** Makes calls one after the other, then reads the list again. */
  readonly change: (...changes: readonly Change[]) => void
}

function Switches({ endpoint, faults, change }: SwitchesProps) {
  const [chosen, setChosen] = useState(0.05)
  // A switch stands for a fault without an end.
  const own = faults.filter((it) => it.endpoint === endpoint && it.share && !it.times && !it.match)
  const share = own[0]?.share ?? chosen
  const add = (members: object): Change => ['POST', '/faults', { endpoint, share, ...members }]
  const setShare = (event: Event) => {
    const share = Number((event.currentTarget as HTMLSelectElement).value)
    setChosen(share)
    const again = ({ id, kind, delay_ms, status, code, retry_after, seed }: Fault) => [
      remove(id),
      add({ kind, share, ...(delay_ms && { delay_ms }), status, code, retry_after, seed }),
    ]
    change(...own.flatMap(again))
  }
  return (
    <fieldset>
      <legend>{endpoint}</legend>
      <label>
        Share of its calls{' '}
        <select value={share} onChange={setShare}>
          {[...new Set([...shares, share])].map((it) => (
            <option value={it}>{it * 100} %</option>
          ))}
        </select>
      </label>
      {faultKinds.map((kind) => {
        const [, , label, preset] = faultTable[kind]
        const on = own.filter((it) => it.kind === kind).map((it) => remove(it.id))
        return (
          <button
            role="switch"
            aria-checked={!!on[0]}
            onClick={() => change(...(on[0] ? on : [add({ kind, ...preset })]))}
          >
            {label}
          </button>
        )
      })}
    </fieldset>
  )
}
