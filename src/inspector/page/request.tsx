import type { ComponentChildren } from 'preact'
import type { Exchange, RequestLogEntry } from '../../contract/platform/activity.js'
import { Badge, Copy, Heading, KeyValue, Status, Time } from './components.js'
import type { Entry } from './model/activity-log.js'
import { curlOf, isWhole, stepOf, testOf } from './model/copy-as.js'
import { duration } from './model/format.js'
import { linkTo, type ViewProps } from './router.js'
import { features } from './state.js'
import { complete, log, logVersion } from './stream.js'
import { Bytes } from './views/bytes.js'

export function RequestView({ params: { id = '' } }: ViewProps) {
  logVersion.value
  const entry = log.request(id)
  if (entry?.line.kind === 'request')
    return <Request entry={entry} call={entry.line.request} exchange={entry.line.exchange} />
  return (
    <section>
      <Heading>Request</Heading>
      <p class="empty">{complete.value ? `The log has no request ${id} any more.` : 'Loading …'}</p>
    </section>
  )
}

interface RequestProps {
  readonly entry: Entry
  readonly call: RequestLogEntry
  readonly exchange: Exchange | null
}

function Request({ entry, call, exchange }: RequestProps) {
  const { voucher_id: voucher, application_id: application } = call
  return (
    <article>
      <Heading
        more={
          <>
            <Status status={call.status} /> {call.code && <span class="code">{call.code}</span>}
            {call.replayed && <Badge tone="note">replay: the stored response was sent again</Badge>}
          </>
        }
      >
        {entry.type}
      </Heading>
      <KeyValue
        items={[
          [
            'Request',
            <code>
              {call.method} {exchange?.request.url ?? call.path}
            </code>,
          ],
          ['At', <Time at={call.time} />],
          ['Duration', duration(call.duration_ms)],
          ['Voucher', voucher && <a href={linkTo(['vouchers', voucher])}>{voucher}</a>],
          ['Application', application && <a href={linkTo([], { application })}>{application}</a>],
          ['Request id', <code>{call.request_id}</code>],
        ]}
      />
      {exchange === null ? (
        <p class="empty">
          Headers and bodies were not captured. They are while this page is open and the server is not busy, and always
          with <code>--inspect</code>.
        </p>
      ) : (
        <>
          <CopyAs call={call} exchange={exchange} />
          <div class="pair">
            <Message title="Request" message={exchange.request} />
            {exchange.response ? (
              <Message title="Response" message={exchange.response} />
            ) : (
              <section>
                <h2>Response</h2>
                <p class="empty">No response was sent.</p>
              </section>
            )}
          </div>
        </>
      )}
    </article>
  )
}

function CopyAs({ call, exchange }: { readonly call: RequestLogEntry; readonly exchange: Exchange }) {
  const { request } = exchange
  if (!isWhole(request))
    return <p class="quiet">The call cannot be copied, because its body is not shown as a whole.</p>
  const step = stepOf(call, request)
  const asTest = testOf(call, request)
  return (
    <p class="actions">
      <Copy label="Copy as curl" text={() => curlOf(request, features.value?.base_url ?? location.origin)} />
      {step && <Copy label="as scenario step" text={step} />}
      {asTest && <Copy label="as test" text={asTest} />}
    </p>
  )
}

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
