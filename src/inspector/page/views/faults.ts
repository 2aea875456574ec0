import { useState } from 'preact/hooks'
import type { Fault, faultKinds } from '../../../contract/controls.js'
import { call, type Failure, type Result } from '../api.js'
import { Failed, Heading, Loaded } from '../components.js'
import { html } from '../html.js'
import { faultSentence } from './fault-sentence.js'

type Kind = (typeof faultKinds)[number]

const kinds: readonly (readonly [kind: Kind, label: string])[] = [
  ['drop_response', 'Lose the response'],
  ['delay', 'Take 1 s longer'],
  ['error', 'Fail with 503'],
]
const rates = [0.01, 0.05, 0.2, 0.5, 1]
/** Endpoints that have switches; a field adds others. */
const usual = ['vouchers.redeem', 'vouchers.issue', 'vouchers.verify', 'vouchers.reverse']
const DELAY_MS = 1000

type Change = () => Promise<Result<unknown>>

const add =
  (endpoint: string, kind: Kind, rate: number): Change =>
  () =>
    call('POST', '/faults', { endpoint, kind, rate, ...(kind === 'delay' && { delay_ms: DELAY_MS }) })
const remove =
  (path: string): Change =>
  () =>
    call('DELETE', `/faults${path}`)
const removeOne = ({ id }: Fault) => remove(`/${encodeURIComponent(id)}`)

/** Faults of the endpoints as switches, and the list of those that are on. */
export function FaultsView() {
  return html`<article><${Heading}>Faults<//>
    <p class="quiet">They disturb calls of your app on purpose, so that you see whether it copes.</p>
    <${Loaded} path="/faults" on=${['faults', 'reset']}
      view=${({ items }: { items: readonly Fault[] }, reload: () => void) => html`<${Faults} items=${items} reload=${reload} />`} /></article>`
}

function Faults({ items, reload }: { readonly items: readonly Fault[]; readonly reload: () => void }) {
  const [failure, setFailure] = useState<Failure>()
  const [added, setAdded] = useState<readonly string[]>([])
  const change = async (...changes: readonly Change[]) => {
    const results: Result<unknown>[] = []
    for (const make of changes) results.push(await make())
    setFailure(results.find((it) => !it.ok) as Failure | undefined)
    reload()
  }
  const endpoints = new Set([...usual, ...added, ...items.map((it) => it.endpoint)])
  return html`
    <div class="switches">${[...endpoints].map((it) => html`<${Switches} key=${it} endpoint=${it} faults=${items} change=${change} />`)}</div>
    <p><label>Another endpoint <input placeholder="bots.issue" spellcheck="false" autocomplete="off" onChange=${(
      event: Event,
    ) => {
      const input = event.currentTarget as HTMLInputElement
      setAdded([...added, input.value.trim()])
      input.value = ''
    }} /></label></p>
    ${failure && html`<${Failed} failure=${failure} />`}
    <h2>Now on</h2>
    <ul class="rows">${items.map(
      (it) => html`<li key=${it.id}><span>${faultSentence(it)}</span>
        <button type="button" class="small" aria-label=${`Remove: ${faultSentence(it)}`} onClick=${() => change(removeOne(it))}>Remove</button></li>`,
    )}</ul>
    ${
      items.length
        ? html`<button type="button" onClick=${() => change(remove(''))}>Remove all</button>`
        : html`<p class="empty">No fault is on.</p>`
    }`
}

/** A fault that a switch shows: it goes on until it is removed. */
const hasSwitch = ({ rate, times, delay_ms, kind }: Fault) =>
  rate !== null && times === null && delay_ms === (kind === 'delay' ? DELAY_MS : null)

interface SwitchesProps {
  readonly endpoint: string
  readonly faults: readonly Fault[]
  /** Makes changes one after the other, then reads the list again. */
  readonly change: (...changes: readonly Change[]) => void
}

function Switches({ endpoint, faults, change }: SwitchesProps) {
  const [chosen, setChosen] = useState(0.05)
  const own = faults.filter((it) => it.endpoint === endpoint && hasSwitch(it))
  const rate = own[0]?.rate ?? chosen
  const setRate = (event: Event) => {
    const value = Number((event.currentTarget as HTMLSelectElement).value)
    setChosen(value)
    change(...own.flatMap((it) => [removeOne(it), add(endpoint, it.kind, value)]))
  }
  return html`<fieldset><legend>${endpoint}</legend>
    <label>Share of its calls <select value=${rate} onChange=${setRate}>
      ${[...new Set([...rates, rate])].map((it) => html`<option value=${it}>${it * 100} %</option>`)}
    </select></label>
    ${kinds.map(([kind, label]) => {
      const on = own.filter((it) => it.kind === kind)
      return html`<button type="button" role="switch" aria-checked=${on.length > 0}
        onClick=${() => change(...(on.length ? on.map(removeOne) : [add(endpoint, kind, rate)]))}>${label}</button>`
    })}
  </fieldset>`
}
