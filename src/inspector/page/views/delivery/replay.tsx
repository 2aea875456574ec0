import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { DeliveryDetail, DeliveryReplay } from '../../../../contract/platform/deliveries.js'
import type { Result } from '../../api.js'
import { Failed, Status } from '../../components.js'
import { makeCall } from '../../make-call.js'
import { bytesOf } from '../../model/bytes.js'
import {
  type ByteFormat,
  type Bytes,
  base64Of,
  isEditableText,
  readBytes,
  writeBytes,
} from '../../model/edited-bytes.js'
import { count, duration } from '../../model/format.js'
import { indentJson } from '../../model/json-text.js'
import { Choice } from '../choice.js'
import { Advice } from './advice.js'

interface ReplayProps {
  readonly detail: DeliveryDetail
  readonly reload: () => void
}

/** Retries a delivery that failed; sends it again with original or edited bytes, which does not change its state. */
export function Replay({ detail: { delivery, account_id, body }, reload }: ReplayProps) {
  const [editing, setEditing] = useState(false)
  const [sending, setSending] = useState(false)
  const [result, setResult] = useState<Result<DeliveryReplay>>()
  const send = async (signed: boolean, edited?: Bytes | null) => {
    setSending(true)
    const bytes = { mode: signed ? 'resigned' : 'as_sent', ...(edited && { body: base64Of(edited) }) }
    setResult(await makeCall({ endpoint: 'platform.replayDelivery', input: { deliveryId: delivery.id, ...bytes } }))
    setSending(false)
    reload()
  }
  const isFailing = /^(failed|dead_letter)$/.test(delivery.status)
  const retry = (account: string) => {
    const input = { botId: delivery.bot_id, deliveryId: delivery.id }
    void makeCall({ endpoint: 'webhook.retry', as: { kind: 'account', id: account }, input }, 'Retried.')
  }
  const button = (label: string, signed: boolean, edited?: Bytes | null) => (
    <button disabled={sending || edited === null} onClick={() => send(signed, edited)}>
      {label}
    </button>
  )
  return (
    <section>
      <h2>Send again</h2>
      <p class="quiet">A retry counts as an attempt. A replay sends it once more, and its state stays.</p>
      <p class="actions">
        {account_id && isFailing && <button onClick={() => retry(account_id)}>Retry now</button>}
        {button('As sent', false)} {button('Signed again', true)}
        {body && (
          <button aria-expanded={editing} onClick={() => setEditing(!editing)}>
            Edited …
          </button>
        )}
      </p>
      {editing && body && <ByteEditor original={bytesOf(body)} button={button} />}
      <div role="status">{result && (result.ok ? Outcome(result.data) : Failed({ failure: result }))}</div>
    </section>
  )
}

const Outcome = ({ status, error, duration_ms, verification, hints }: DeliveryReplay) => (
  <>
    <p>
      <Status status={status} /> {error?.message ?? 'The app accepted it.'}{' '}
      <span class="quiet">{duration(duration_ms)}</span>
    </p>
    <Advice verification={verification} hints={hints} />
  </>
)

interface ByteEditorProps {
  readonly original: Bytes
  /** Makes a button that sends bytes, if they are not null. */
  readonly button: (label: string, signed: boolean, bytes: Bytes | null) => VNode
}

const focusOn = (field: HTMLElement | null) => field?.focus()

/** Editor for bytes as UTF-8 text, or as hex where a text area would change the bytes. */
function ByteEditor({ original, button }: ByteEditorProps) {
  const [format, setFormat] = useState<ByteFormat>(isEditableText(original) ? 'text' : 'hex')
  const [written, setWritten] = useState(() => writeBytes(original, format))
  const bytes = readBytes(written, format)
  const indented = format === 'text' ? indentJson(written) : null
  const isChanged = bytes?.length !== original.length || bytes.some((it, at) => it !== original[at])
  const choose = (format: ByteFormat) => {
    if (bytes) setWritten(writeBytes(bytes, format))
    setFormat(format)
  }
  return (
    <div class="editor">
      <div class="bar">
        <Choice
          label="Format"
          value={format}
          choose={choose}
          options={[
            ['text', 'Text (UTF-8)', !bytes || !isEditableText(bytes)],
            ['hex', 'Hex'],
          ]}
        />
        <button
          type="button"
          class="small"
          disabled={indented === null || indented === written}
          onClick={() => indented && setWritten(indented)}
        >
          Indent the JSON
        </button>
        <span role="status">
          {bytes ? `${count(bytes.length)} bytes, ${count(original.length)} before` : 'Write pairs of 0-9 and a-f.'}
          {bytes && isChanged && '. Other bytes need a new signature.'}
        </span>
      </div>
      <textarea
        aria-label="Bytes to send"
        ref={focusOn}
        rows={12}
        spellcheck={false}
        value={written}
        onInput={(event) => setWritten(event.currentTarget.value)}
      ></textarea>
      <p class="actions">
        {button('Send signed', true, bytes)} {button('Send with the old signature', false, bytes)}
      </p>
    </div>
  )
}
