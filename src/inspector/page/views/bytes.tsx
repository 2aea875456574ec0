import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { CAPTURED_BYTES_MAX } from '../../../contract/platform/captured.js'
import { Copy } from '../components.js'
import { bytesOf, hexDump, textOf, withoutSecrets } from '../model/bytes.js'
import { size } from '../model/format.js'
import { indentJson, jsonParts } from '../model/json-text.js'
import { signal } from '../signal.js'
import { Choice } from './choice.js'

/** Selected format of bodies; kept while the page is open. */
const bodyFormat = signal('Indented')

interface BytesProps {
  /** Base64; null if empty or hidden. */
  readonly body: string | null
  /** Length before truncation. */
  readonly length: number
  readonly name: string
}

/** A body as indented JSON, as sent text, or in hex. All content is in text nodes. */
export function Bytes({ body, length, name }: BytesProps) {
  const { bytes, forms } = useMemo(() => formsOf(body ?? ''), [body])
  const chosen = forms[bodyFormat.value] ? bodyFormat.value : (Object.keys(forms)[0] ?? '')
  // Preact skips an identical element when the page renders.
  const shown = useMemo(
    () => (
      <pre tabindex={0} aria-label={name} role="region">
        {forms[chosen]?.()}
      </pre>
    ),
    [forms, chosen, name],
  )
  if (body === null) return <p class="quiet">{length ? `${size(length)}, not shown.` : 'No body.'}</p>
  return (
    <div class="bytes">
      <div class="bar">
        <span class="quiet">
          {size(length)}
          {length > CAPTURED_BYTES_MAX && `, of which ${size(bytes.length)} are shown`}
        </span>
        <Choice
          label={`Format of ${name}`}
          value={chosen}
          options={Object.keys(forms).map((it) => [it, it])}
          choose={(format: string) => {
            bodyFormat.value = format
          }}
        />
        <Copy text={() => textOf(bytes) ?? hexDump(bytes)} />
      </div>
      {shown}
    </div>
  )
}

/** Formats for a body, the most readable first. */
function formsOf(body: string) {
  const bytes = withoutSecrets(bytesOf(body))
  const text = textOf(bytes)
  const indented = text && indentJson(text)
  const forms: Record<string, () => ComponentChildren> = {
    ...(indented && { Indented: () => jsonParts(indented).map((it, index) => (index % 2 ? tinted(it) : it)) }),
    ...(text !== null && { 'As sent': () => text }),
    Hex: () => hexDump(bytes),
  }
  return { bytes, forms }
}

const tinted = (part: string) => (
  <span class={part[0] !== '"' ? 'json-value' : part.endsWith(':') ? 'json-name' : 'json-text'}>{part}</span>
)
