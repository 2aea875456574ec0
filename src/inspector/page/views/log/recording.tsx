import { useEffect, useState } from 'preact/hooks'
import type { OutputOf } from '../../../../contract/endpoint.js'
import type { platformActivity } from '../../../../contract/platform/activity.js'
import type { Result } from '../../api.js'
import { Copy, Failed } from '../../components.js'
import { makeCall } from '../../make-call.js'
import { count, plural } from '../../model/format.js'

export type Recorded = OutputOf<typeof platformActivity.recordScenario>

/** Maximum number of ids of a call; a server keeps its newest 1,000 lines. */
const IDS_MAX = 2_000
const FILE = 'recorded.yaml'

interface RecordingProps {
  /** Ids of requests and deliveries. */
  readonly chosen: ReadonlySet<string>
  readonly choose: (ids: ReadonlySet<string>) => void
  /** Ids of all rows that pass the filters, newest first. */
  readonly shown: readonly string[]
  readonly close: () => void
}

/** Makes a scenario file of the chosen requests and deliveries. */
export function Recording({ chosen, choose, shown, close }: RecordingProps) {
  const [busy, setBusy] = useState(false)
  const [result, setResult] = useState<Result<Recorded>>()
  useEffect(() => setResult(undefined), [chosen])
  const record = async () => {
    if (busy || chosen.size === 0) return
    setBusy(true)
    setResult(await makeCall({ endpoint: 'platform.recordScenario', input: { ids: [...chosen].slice(0, IDS_MAX) } }))
    setBusy(false)
  }
  return (
    <section class="panel" aria-label="Scenario">
      <p>
        {chosen.size === 0 ? 'Choose the calls and deliveries of the scenario below.' : `${count(chosen.size)} chosen.`}{' '}
        Ids, codes and credentials become variables; what no step can repeat becomes a comment.
      </p>
      <p class="actions">
        <button type="button" class="primary" aria-busy={busy} disabled={chosen.size === 0} onClick={record}>
          Make the scenario
        </button>
        <button type="button" onClick={() => choose(new Set(shown.slice(0, IDS_MAX)))}>
          Choose all shown
        </button>
        <button type="button" onClick={() => choose(new Set())}>
          Choose none
        </button>
        <button type="button" onClick={close}>
          Close
        </button>
      </p>
      <div role="status">{result?.ok && <Outcome {...result.data} />}</div>
      {result?.ok === false && <Failed failure={result} />}
    </section>
  )
}

function Outcome({ text, steps, remarks }: Recorded) {
  return (
    <>
      {text === null ? (
        <p>No step can repeat what was chosen.</p>
      ) : (
        <p class="bar">
          <span>
            {plural(steps, 'steps')}. On a new server they run with <code>voucherctl scenario run {FILE}</code>
          </span>
          <span class="actions">
            <Copy text={text} />
            <a download={FILE} href={`data:application/yaml;charset=utf-8,${encodeURIComponent(text)}`}>
              Save {FILE}
            </a>
          </span>
        </p>
      )}
      <ul>
        {remarks.map((it) => (
          <li>{it}</li>
        ))}
      </ul>
      {text && (
        <pre tabindex={0} role="region" aria-label={`Content of ${FILE}`}>
          {text}
        </pre>
      )}
    </>
  )
}
