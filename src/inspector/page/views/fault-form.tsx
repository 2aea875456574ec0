import { useState } from 'preact/hooks'
import { faultKinds, faultTable } from '../../../contract/platform/fault-kinds.js'
import type { Reference } from '../../../contract/platform/reference.js'
import { useRead } from '../components.js'
import { type FaultFields, faultOf, previewOf } from '../model/fault-draft.js'
import { act } from './act.js'

const start: FaultFields = { endpoint: 'vouchers.redeem', kind: 'drop_response', calls: 'next', times: '1', share: '5' }

/** Calls that a fault can affect, with the fields of each choice. */
const ways = {
  next: ['The next calls', ['times']],
  share: ['A share of the calls', ['share', 'times', 'seed']],
  nth: ['Calls from a number on', ['nth', 'times']],
} as const

const numbers = {
  times: ['How many calls', '', 1],
  share: ['Share in %', '5', 0],
  seed: ['Seed', 'random', 0],
  nth: ['From call number', '3', 1],
  delay_ms: ['Wait before, in ms', '0', 0],
  status: ['Status', '429', 300],
  retry_after: ['Retry-After in s', '', 0],
} as const

/** A fault of any endpoint and kind, with a sentence that says beforehand what it will do. */
export function FaultForm({ added }: { readonly added: () => void }) {
  const { result } = useRead<Reference>('/reference')
  const [fields, setFields] = useState(start)
  const { kind, calls } = fields
  const fault = faultOf(fields)
  const set = (event: Event) => {
    const { name, value } = event.currentTarget as HTMLInputElement
    setFields((it) => ({ ...it, [name]: value }))
  }
  const add = async (event: Event) => {
    event.preventDefault()
    if (typeof fault !== 'string' && (await act('POST', '/faults', fault, previewOf(fault)))) added()
  }
  const number = (name: keyof typeof numbers, isRequired = false) => {
    const [label, placeholder, min] = numbers[name]
    return (
      <label key={name}>
        <span>{label}</span>
        <input
          type="number"
          name={name}
          min={min}
          step={name === 'share' ? 'any' : 1}
          required={isRequired}
          placeholder={placeholder}
          value={fields[name] ?? ''}
          onInput={set}
        />
      </label>
    )
  }
  const text = (name: string, label: string, placeholder: string) => (
    <label>
      <span>{label}</span>
      <input name={name} value={fields[name] ?? ''} placeholder={placeholder} spellcheck={false} onInput={set} />
    </label>
  )
  return (
    <form class="clock" onSubmit={add}>
      <div class="filters">
        <label>
          <span>Endpoint</span>
          <select name="endpoint" value={fields.endpoint} onChange={set}>
            {result?.ok ? (
              result.data.groups.map(({ name, endpoints }) => {
                const ids = endpoints.filter(({ caller }) => caller !== 'operator')
                return ids.length > 0 && <optgroup label={name}>{ids.map(optionOf)}</optgroup>
              })
            ) : (
              <option>{fields.endpoint}</option>
            )}
          </select>
        </label>
        <label>
          <span>What happens</span>
          <select name="kind" value={kind} onChange={set}>
            {faultKinds.map((it) => (
              <option value={it}>{it === 'status' ? 'Fail with a status' : faultTable[it][2]}</option>
            ))}
          </select>
        </label>
        <label>
          <span>Which calls</span>
          <select name="calls" value={calls} onChange={set}>
            {Object.entries(ways).map(([way, [label]]) => (
              <option value={way}>{label}</option>
            ))}
          </select>
        </label>
        {ways[calls][1].map((name, index) => number(name, index === 0))}
        {kind === 'status' && number('status', true)}
      </div>
      <details>
        <summary>More: delay, status, path and body</summary>
        <div class="filters">
          {number('delay_ms')}
          {kind === 'status' && number('retry_after')}
          {kind === 'status' && text('code', 'Failure code', 'of the table')}
          {text('path', 'Only this path', '/api/v1/*/vouchers/redeem')}
          {text('body', 'Only these members of the body', '{"reference":"till-4"}')}
        </div>
      </details>
      <p role="status">
        <strong>{typeof fault === 'string' ? fault : previewOf(fault)}</strong>
      </p>
      <button class="primary" disabled={typeof fault === 'string'}>
        Switch it on
      </button>
    </form>
  )
}

const optionOf = ({ id, summary }: { readonly id: string; readonly summary: string }) => (
  <option value={id} title={summary}>
    {id}
  </option>
)
