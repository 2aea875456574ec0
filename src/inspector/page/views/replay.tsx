import { useState } from 'preact/hooks'
import type { DeliveryDetail, DeliveryReplay } from '../../../contract/platform/deliveries.js'
import { call, type Result } from '../api.js'
import { Failed } from '../components.js'
import { bytesOf } from '../model/bytes.js'
import { type Bytes, base64Of } from '../model/edited-bytes.js'
import { ByteEditor } from './byte-editor.js'
import { Response } from './response.js'

interface ReplayProps {
  readonly detail: DeliveryDetail
  readonly reload: () => void
}

/** Sends the delivery to the app once more, with its bytes or with edited ones. Its state stays as it is. */
export function Replay({ detail: { delivery, body }, reload }: ReplayProps) {
  const [editing, setEditing] = useState(false)
  const [sending, setSending] = useState(false)
  const [result, setResult] = useState<Result<DeliveryReplay>>()
  const send = async (signed: boolean, edited?: Bytes) => {
    setSending(true)
    const input = { mode: signed ? 'resigned' : 'as_sent', ...(edited && { body: base64Of(edited) }) }
    setResult(await call('POST', `/deliveries/${encodeURIComponent(delivery.id)}/replay`, input))
    setSending(false)
    reload()
  }
  const button = (label: string, signed: boolean) => (
    <button disabled={sending} onClick={() => send(signed)}>
      {label}
    </button>
  )
  return (
    <section>
      <h2>Replay</h2>
      <p class="quiet">Sends it to the app once more. The state of the delivery stays.</p>
      <p class="actions">
        {button('As sent', false)} {button('Signed again', true)}
        {body && (
          <button aria-expanded={editing} onClick={() => setEditing(!editing)}>
            Edited …
          </button>
        )}
      </p>
      {editing && body && (
        <ByteEditor
          original={bytesOf(body)}
          sending={sending}
          send={(bytes: Bytes, signed: boolean) => send(signed, bytes)}
        />
      )}
      <div role="status">{result && (result.ok ? Outcome(result.data) : Failed({ failure: result }))}</div>
    </section>
  )
}

function Outcome(replay: DeliveryReplay) {
  const { verification, hints, exchange } = replay
  return (
    <>
      <Response exchange={{ ...replay, response: exchange.response }} open />
      {!verification.ok && (
        <p>
          {verification.explanation} {verification.fix}
        </p>
      )}
      <ul>
        {hints.map((it) => (
          <li>{it.text}</li>
        ))}
      </ul>
    </>
  )
}
