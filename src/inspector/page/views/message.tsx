import { KeyValue } from '../components.js'
import type { CapturedMessage } from '../model/axis.js'
import { Bytes } from './bytes.js'

interface MessageProps extends CapturedMessage {
  /** What it belongs to, for one message among many: its headers are closed then. */
  readonly of?: string
}

/** Headers and body of a request or a response. */
export function Message({ title, message: { headers, body, body_bytes }, of }: MessageProps) {
  return (
    <section>
      {of ? <h3>{title}</h3> : <h2>{title}</h2>}
      {headers.length > 0 && (
        <details class="headers" open={!of}>
          <summary>Headers ({headers.length})</summary>
          <KeyValue items={headers} />
        </details>
      )}
      <Bytes name={`Body of the ${title.toLowerCase()}${of ? `, ${of}` : ''}`} body={body} length={body_bytes} />
    </section>
  )
}
