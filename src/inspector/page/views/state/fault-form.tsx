import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { DELIVERIES, faultTable, holdPlaces, type NewFault } from '../../../../contract/platform/fault-kinds.js'
import type { Reference } from '../../../../contract/platform/reference.js'
import { useRead } from '../../components.js'
import { makeCall } from '../../make-call.js'
import { type FaultFields, faultOf, hasField, kindOf, kindsFor, previewOf } from '../../model/fault-draft.js'
import { BotOptions, updateTypes } from '../delivery/deliveries.js'
import { stateOptions } from '../state-badge.js'

/** Fields with numbers; the presets of a kind apply to those that are empty. */
const numbers = {
  times: 'How many',
  nth: 'From number',
  status: 'Status',
  hold_ms: 'End after, in ms',
  retry_after: 'Retry-After in s',
  delay_ms: 'Wait before, in ms',
  seed: 'Seed of the share',
} as const

/** A fault of any target and kind, with a sentence that says beforehand what it will do. */
export function FaultForm() {
  const [typed, setTyped] = useState<FaultFields>({
    endpoint: 'vouchers.redeem',
    kind: 'drop_response',
    times: '1',
    at: 'committed',
  })
  const { result } = useRead<Reference>('/reference')
  const groups = result?.ok ? result.data.groups : []
  const kind = kindOf(typed)
  const fault = faultOf(typed)
  const refused = 'field' in fault ? fault : undefined
  const sentence = 'field' in fault ? '' : previewOf(fault)
  const add = (event: Event) => {
    event.preventDefault()
    void makeCall({ endpoint: 'platform.addFault', input: { ...(fault as NewFault) } }, sentence)
  }
  const common = (name: string) => ({
    name,
    value: name === 'kind' ? kind : (typed[name] ?? ''),
    'aria-invalid': refused?.field === name,
    'aria-describedby': refused?.field === name ? 'refused' : undefined,
    onInput: (event: Event) => setTyped({ ...typed, [name]: (event.currentTarget as HTMLInputElement).value }),
  })
  const field = (name: string, label: string, input: ComponentChildren) =>
    hasField(kind, name) && (
      <>
        <label>
          <span>{label}</span>
          {input}
        </label>
        {refused?.field === name && (
          <small id="refused" class="bad" role="alert">
            {refused.reason}
          </small>
        )}
      </>
    )
  const number = (name: keyof typeof numbers) =>
    field(name, numbers[name], <input type="number" min="0" step="1" {...common(name)} />)
  const text = (name: string, label: string, placeholder: string) =>
    field(name, label, <input placeholder={placeholder} spellcheck={false} {...common(name)} />)
  const choice = (name: string, label: string, options: ComponentChildren) =>
    field(name, label, <select {...common(name)}>{options}</select>)
  // Every endpoint but the operator's, which have no faults.
  const targets = [
    <option value={DELIVERIES}>Deliveries</option>,
    ...groups.map(({ name, endpoints }) => (
      <optgroup label={name} hidden={endpoints[0]?.caller === 'operator'}>
        {endpoints.map(({ id, caller }) => caller !== 'operator' && <option>{id}</option>)}
      </optgroup>
    )),
  ]
  const kinds = kindsFor(typed).map((it) => <option value={it}>{faultTable[it][2]}</option>)
  const places = Object.entries(holdPlaces).map(([place, words]) => <option value={place}>{words}</option>)
  return (
    <form class="clock" onSubmit={add}>
      <div class="filters">
        {choice('endpoint', 'Target', targets)}
        {choice('kind', 'What happens', kinds)}
        {choice('at', 'Where', places)}
        {field('share', 'Share in %', <input inputmode="decimal" placeholder="100" {...common('share')} />)}
        {number('times')}
        {number('nth')}
        {number('status')}
      </div>
      <details>
        <summary>More: {hasField(kind, 'path') ? 'delay, path' : 'bot, type'}, body</summary>
        <div class="filters">
          {choice('bot', 'Only this bot', <BotOptions own={typed.bot || null} />)}
          {choice('type', 'Only this type', stateOptions(updateTypes))}
          {number('hold_ms')}
          {number('delay_ms')}
          {number('seed')}
          {number('retry_after')}
          {text('code', 'Failure code', 'of the table')}
          {text('path', 'Only this path', '/api/v1/*/vouchers/redeem')}
          {text('body', 'Only these members of the body', '{"reference":"till-4"}')}
        </div>
      </details>
      <p role="status">
        <strong>{sentence}</strong>
      </p>
      <button class="primary" disabled={refused !== undefined}>
        Switch it on
      </button>
    </form>
  )
}
