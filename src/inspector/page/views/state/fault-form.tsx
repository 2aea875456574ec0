import { useState } from 'preact/hooks'
import { faultKinds, faultTable, type NewFault } from '../../../../contract/platform/fault-kinds.js'
import type { Reference } from '../../../../contract/platform/reference.js'
import { useRead } from '../../components.js'
import { act } from '../../make-call.js'
import { faultOf, previewOf } from '../../model/fault-draft.js'

/** Fields with numbers; the presets of a kind apply to those that are empty. */
const numbers = {
  share: 'Share of the calls in %',
  times: 'How many calls',
  nth: 'From call number',
  status: 'Status',
  retry_after: 'Retry-After in s',
  delay_ms: 'Wait before, in ms',
  seed: 'Seed of the share',
} as const

/** A fault of any endpoint and kind, with a sentence that says beforehand what it will do. */
export function FaultForm() {
  const { result } = useRead<Reference>('/reference')
  const [fields, setFields] = useState<Readonly<Record<string, string>>>({
    endpoint: 'vouchers.redeem',
    kind: 'drop_response',
    times: '1',
  })
  const fault = faultOf(fields)
  const sentence = typeof fault === 'string' ? fault : previewOf(fault)
  const add = (event: Event) => {
    event.preventDefault()
    void act({ endpoint: 'platform.addFault', input: { ...(fault as NewFault) } }, sentence)
  }
  const common = (name: string) => ({
    name,
    value: fields[name] ?? '',
    onInput: (event: Event) => setFields({ ...fields, [name]: (event.currentTarget as HTMLInputElement).value }),
  })
  const number = (name: keyof typeof numbers) => (
    <label>
      <span>{numbers[name]}</span>
      <input type="number" min="0" step={name === 'share' ? 'any' : 1} {...common(name)} />
    </label>
  )
  const text = (name: string, label: string, placeholder: string) => (
    <label>
      <span>{label}</span>
      <input placeholder={placeholder} spellcheck={false} {...common(name)} />
    </label>
  )
  const groups = result?.ok ? result.data.groups : []
  return (
    <form class="clock" onSubmit={add}>
      <div class="filters">
        <label>
          <span>Endpoint</span>
          <select {...common('endpoint')}>
            {groups.map(({ name, endpoints }) => (
              // The operator's own calls have no faults.
              <optgroup label={name} hidden={endpoints[0]?.caller === 'operator'}>
                {endpoints.map(({ id, caller }) => caller !== 'operator' && <option>{id}</option>)}
              </optgroup>
            ))}
          </select>
        </label>
        <label>
          <span>What happens</span>
          <select {...common('kind')}>
            {faultKinds.map((kind) => (
              <option value={kind}>{kind === 'status' ? 'Fail with a status' : faultTable[kind][2]}</option>
            ))}
          </select>
        </label>
        {number('share')}
        {number('times')}
        {number('nth')}
        {fields.kind === 'status' && number('status')}
      </div>
      <details>
        <summary>More: delay, path, body</summary>
        <div class="filters">
          {number('delay_ms')}
          {number('seed')}
          {fields.kind === 'status' && number('retry_after')}
          {fields.kind === 'status' && text('code', 'Failure code', 'of the table')}
          {text('path', 'Only this path', '/api/v1/*/vouchers/redeem')}
          {text('body', 'Only these members of the body', '{"reference":"till-4"}')}
        </div>
      </details>
      <p role="status">
        <strong>{sentence}</strong>
      </p>
      <button class="primary" disabled={typeof fault === 'string'}>
        Switch it on
      </button>
    </form>
  )
}
