import type { CapturedExchange } from '../../../contract/platform/activity.js'
import { KeyValue } from '../components.js'
import { Bytes } from './bytes.js'

interface MessageProps {
  readonly title: string
  readonly message: Pick<CapturedExchange['request'], 'headers' | 'body' | 'body_bytes'>
}

/** Headers and body of a request or a response. */
export function Message({ title, message: { headers, body, body_bytes } }: MessageProps) {
  return (
    <section>
      <h2>{title}</h2>
      {headers.length > 0 && (
        <details class="headers" open>
          <summary>Headers ({headers.length})</summary>
          <KeyValue items={headers} />
        </details>
      )}
      <Bytes name={`Body of the ${title.toLowerCase()}`} body={body} length={body_bytes} />
    </section>
  )
}
