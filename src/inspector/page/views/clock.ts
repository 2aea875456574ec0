import { useRef, useState } from 'preact/hooks'
import type { Forecast } from '../../../contract/controls.js'
import { call, type Failure } from '../api.js'
import { Copy, Failed, Heading, useRead } from '../components.js'
import { dateTime, relative } from '../format.js'
import { html } from '../html.js'
import { announce, features, serverNow } from '../state.js'
import { sentenceOf, stepOf, steps } from './clock-steps.js'

const presets = [
  ['+1 h', 3600],
  ['+1 d', 86_400],
  ['+31 d', 31 * 86_400],
] as const

const START = 'voucherctl server start --test-clock --memory --port 0'

/** The test clock as a slider, which says beforehand what a move triggers. */
export function ClockView() {
  return html`<article><${Heading}>Clock<//>${
    features.value?.test_clock
      ? html`<${TestClock} />`
      : html`<p>This server runs on the true time: it has no test clock. Start one that has:</p>
        <p><code>${START}</code> <${Copy} text=${START} /></p>`
  }</article>`
}

function TestClock() {
  const now = serverNow()
  /** Seconds to advance, or a time to set. */
  const [target, setTarget] = useState<number | string>(0)
  const [failure, setFailure] = useState<Failure>()
  const isTime = typeof target === 'string'
  const seconds = isTime ? (Date.parse(target) - now) / 1000 : target
  const search = new URLSearchParams(isTime ? { until: target } : { seconds: String(target) })
  const { result } = useRead<Forecast>(`/clock/forecast?${search}`, ['clock', 'reset'])
  // Shows the forecast before until the next one is there.
  const forecast = useRef('')
  if (result?.ok) forecast.current = sentenceOf(result.data)
  const advance = async (event: Event) => {
    event.preventDefault()
    const done = await (isTime ? call('PUT', '/clock', { now: target }) : call('POST', '/clock/advance', { seconds }))
    setFailure(done.ok ? undefined : done)
    if (!done.ok) return
    announce(`The clock moved. ${forecast.current}`)
    setTarget(0)
  }
  const there = new Date(now + seconds * 1000).toISOString()
  const length = relative(there, now)
  const failed = failure ?? (result?.ok === false && result)
  return html`<form class="clock" onSubmit=${advance}>
    <p><time>${dateTime(new Date(now).toISOString())}</time> UTC on the server</p>
    <label>Advance it<input type="range" max=${steps.length - 1} value=${stepOf(seconds)} aria-valuetext=${length}
      onInput=${(event: Event) => setTarget(steps[Number((event.currentTarget as HTMLInputElement).value)] ?? 0)} /></label>
    <p class="actions">
      ${presets.map(([label, more]) => html`<button type="button" onClick=${() => setTarget(Math.round(seconds) + more)}>${label}</button>`)}
      <label>to (UTC) <input type="datetime-local" step="1" value=${there.slice(0, 19)}
        onChange=${(event: Event) => {
          const { valueAsNumber } = event.currentTarget as HTMLInputElement
          if (valueAsNumber) setTarget(new Date(valueAsNumber).toISOString())
        }} /></label>
    </p>
    <p role="status" class="forecast">${seconds ? html`<strong>${forecast.current}</strong> <span class="quiet">Until ${dateTime(there)}, ${length}.</span>` : 'Move the slider to see what happens until then.'}</p>
    <button class="primary" disabled=${!seconds}>Advance</button>
    ${failed && html`<${Failed} failure=${failed} />`}
  </form>`
}
