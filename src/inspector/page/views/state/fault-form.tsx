import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { updateTypes } from '../../../../contract/page-choices.js'
import { DELIVERIES, faultTable, holdPlaces, type NewFault } from '../../../../contract/platform/fault-kinds.js'
import { type Choices, optionsOf } from '../../components.js'
import { makeCall } from '../../make-call.js'
import { type FaultFields, faultOf, hasField, kindOf, kindsFor, previewOf } from '../../model/fault-draft.js'
import { useNamed } from '../../name.js'
import { useEndpoints } from '../../reference.js'
import { stateChoices } from '../state-badge.js'

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
  const bots = (useNamed('bots') ?? []).map(({ id, name }) => [id, name] as const)
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
  const choice = (name: string, label: string, choices: Choices) =>
    field(name, label, <select {...common(name)}>{optionsOf(choices)}</select>)
  // Calls of the operator have no faults.
  const endpoints = [...(useEndpoints()?.values() ?? [])].filter(({ caller }) => caller !== 'operator')
  const targets: Choices = [[DELIVERIES, 'Deliveries'], ...endpoints.map(({ id }) => [id, id] as const)]
  const kinds = kindsFor(typed).map((it) => [it, faultTable[it][2]] as const)
  return (
    <form class="clock" onSubmit={add}>
      <div class="filters">
        {choice('endpoint', 'Target', targets)}
        {choice('kind', 'What happens', kinds)}
        {choice('at', 'Where', Object.entries(holdPlaces))}
        {field('share', 'Share in %', <input inputmode="decimal" placeholder="100" {...common('share')} />)}
        {number('times')}
        {number('nth')}
        {number('status')}
      </div>
      <details>
        <summary>More: {hasField(kind, 'path') ? 'delay, path' : 'bot, type'}, body</summary>
        <div class="filters">
          {choice('bot', 'Only this bot', [['', 'Any'], ...bots])}
          {choice('type', 'Only this type', [['', 'Any'], ...stateChoices(updateTypes)])}
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
