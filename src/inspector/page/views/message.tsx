import type { ComponentChildren } from 'preact'
import type { Exchange } from '../../../contract/platform/activity.js'
import { Bytes } from './bytes.js'

interface MessageProps {
  readonly title: string
  readonly message: Pick<Exchange['request'], 'headers' | 'body' | 'body_bytes'>
  readonly more?: ComponentChildren
}

/** Headers and body of a request or a response. */
export function Message({ title, message: { headers, body, body_bytes }, more }: MessageProps) {
  return (
    <section>
      <h2>{title}</h2>
      {more}
      {headers.length > 0 && (
        <details class="headers" open>
          <summary>Headers ({headers.length})</summary>
          <dl>
            {headers.map(([name, value]) => (
              <div>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
      <Bytes name={`Body of the ${title.toLowerCase()}`} body={body} length={body_bytes} />
    </section>
  )
}
