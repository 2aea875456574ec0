import { useRef, useState } from 'preact/hooks'
import type { Forecast } from '../../../../contract/platform/controls.js'
import { Copied, Heading, Time, useRead } from '../../components.js'
import { makeCall } from '../../make-call.js'
import { instantIn, refusalOf, sentenceOf, stepOf, steps } from '../../model/clock-steps.js'
import { dateTime, relative } from '../../model/format.js'
import { features, serverNow, useServerNow } from '../../state.js'

const presets = { '+1 h': 3600, '+1 d': 86_400, '+31 d': 2_678_400 }

const START = 'voucherctl server start --test-clock --memory --port 0'

/** The test clock as a slider that says in advance what a move triggers. */
export function ClockView() {
  return (
    <article>
      <Heading>Clock</Heading>
      {features.value?.test_clock ? (
        <TestClock />
      ) : (
        <>
          <p>This server has no test clock. Start one that has:</p>
          <p>
            <Copied text={START} />
          </p>
        </>
      )}
    </article>
  )
}

const instantOf = (ms: number) => new Date(ms).toISOString()

const Now = () => (
  <p>
    <Time at={instantOf(useServerNow())} /> on the server
  </p>
)

function TestClock() {
  const now = serverNow()
  const [target, setTarget] = useState('')
  // What the user types; otherwise the field shows the target.
  const [typed, setTyped] = useState<string | null>(null)
  const there = target || instantOf(now)
  const { result } = useRead<Forecast>(target ? `/clock/forecast?until=${target}` : '/clock', ['clock'])
  // Shows the previous forecast until the next one arrives.
  const forecast = useRef('')
  if (result) forecast.current = result.ok ? sentenceOf(result.data) : result.sentence
  const advance = async (event: Event) => {
    event.preventDefault()
    const call = { endpoint: 'platform.setClock', input: { now: target } } as const
    if (!(await makeCall(call, `The clock moved. ${forecast.current}`)).ok) return
    setTyped(null)
    setTarget('')
  }
  const move = (from: number, seconds: number) => {
    setTyped(null)
    setTarget(instantOf(from + seconds * 1000))
  }
  const type = (text: string) => {
    setTyped(text)
    setTarget(refusalOf(text, now) ? '' : instantOf(instantIn(text) ?? now))
  }
  const refusal = typed === null ? undefined : refusalOf(typed, now)
  return (
    <form class="clock" onSubmit={advance}>
      <Now />
      <label>
        Advance it
        <input
          type="range"
          max={steps.length - 1}
          value={stepOf((Date.parse(there) - now) / 1000)}
          aria-valuetext={relative(there, now)}
          onInput={(event) => move(now, steps[Number(event.currentTarget.value)] ?? 0)}
        />
      </label>
      <p class="actions">
        {Object.entries(presets).map(([label, seconds]) => (
          <button type="button" onClick={() => move(Date.parse(there), seconds)}>
            {label}
          </button>
        ))}
        <label>
          to (UTC){' '}
          <input
            value={typed ?? dateTime(there)}
            autocomplete="off"
            aria-invalid={refusal !== undefined}
            aria-describedby="clock-refusal"
            onInput={(event) => type(event.currentTarget.value)}
          />
        </label>{' '}
        <small id="clock-refusal" class="bad" role="alert">
          {refusal}
        </small>
      </p>
      <p role="status">
        {target ? (
          <>
            <strong>{forecast.current}</strong> Until {dateTime(there)}, {relative(there, now)}.
          </>
        ) : (
          'Move the slider to see what happens until then.'
        )}
      </p>
      <button class="primary" disabled={!target}>
        Advance
      </button>
    </form>
  )
}
