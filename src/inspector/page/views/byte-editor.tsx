import { useState } from 'preact/hooks'
import { type ByteFormat, type Bytes, isEditableText, readBytes, writeBytes } from '../model/edited-bytes.js'
import { count } from '../model/format.js'
import { Choice } from './choice.js'

interface ByteEditorProps {
  readonly original: Bytes
  readonly sending: boolean
  readonly send: (bytes: Bytes, signed: boolean) => void
}

/** Edits bytes as UTF-8 text, or in hex where a text area would change them. */
export function ByteEditor({ original, sending, send }: ByteEditorProps) {
  const [format, setFormat] = useState<ByteFormat>(isEditableText(original) ? 'text' : 'hex')
  const [written, setWritten] = useState(() => writeBytes(original, format))
  const bytes = readBytes(written, format)
  const choose = (it: ByteFormat) => {
    if (bytes) setWritten(writeBytes(bytes, it))
    setFormat(it)
  }
  const button = (label: string, signed: boolean) => (
    <button type="button" disabled={sending || !bytes} onClick={() => bytes && send(bytes, signed)}>
      {label}
    </button>
  )
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
        <span role="status">
          {bytes ? `${count(bytes.length)} bytes, ${count(original.length)} before` : 'Write pairs of 0-9 and a-f.'}
        </span>
      </div>
      <textarea
        aria-label="Bytes to send"
        rows={8}
        spellcheck={false}
        value={written}
        onInput={(event) => setWritten(event.currentTarget.value)}
      ></textarea>
      <p class="actions">
        {button('Send signed', true)} {button('Send with the old signature', false)}
      </p>
    </div>
  )
}
