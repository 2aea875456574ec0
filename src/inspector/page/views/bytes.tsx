import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { CAPTURED_BYTES_MAX } from '../../../contract/platform/captured.js'
import { Copy } from '../components.js'
import { Linked } from '../linked.js'
import { bytesOf, hexDump, textOf, withoutSecrets } from '../model/bytes.js'
import { size } from '../model/format.js'
import { idParts, LINKS_MAX } from '../model/ids.js'
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
  const parts = jsonParts((text && indentJson(text)) ?? '')
  const isIndented = parts.length > 1 && parts.length < PARTS_MAX
  const forms: Record<string, () => ComponentChildren> = {
    ...(isIndented && { Indented: () => tintedJson(parts) }),
    ...(text !== null && { 'As sent': () => <Linked text={text} /> }),
    Hex: () => hexDump(bytes),
  }
  return { bytes, forms }
}

/** Maximum parts of JSON that is shown indented: more lines and elements would stop the page for seconds. */
const PARTS_MAX = 20_000

function tintedJson(parts: readonly string[]): ComponentChildren {
  let left = LINKS_MAX
  return parts.map((part, index) => {
    if (index % 2 === 0) return part
    const links = idParts(part, left).length >> 1
    left -= links
    return tinted(part, links > 0 ? <Linked text={part} most={links} /> : part)
  })
}

const tinted = (part: string, shown: ComponentChildren) => (
  <span class={part[0] !== '"' ? 'json-value' : part.endsWith(':') ? 'json-name' : 'json-text'}>{shown}</span>
)
