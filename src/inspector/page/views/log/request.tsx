import { Badge, Heading, KeyValue, PlantedFault, Status, Time } from '../../components.js'
import { Linked } from '../../linked.js'
import { duration } from '../../model/format.js'
import { Name } from '../../name.js'
import type { ViewProps } from '../../router.js'
import { complete, log, logVersion } from '../../stream.js'
import { CopyAs } from '../copy-as.js'
import { Message } from '../message.js'

export function RequestView({ params: { id = '' } }: ViewProps) {
  logVersion.value
  const entry = log.request(id)
  if (entry?.line.kind !== 'request')
    return (
      <section>
        <Heading>Request</Heading>
        <p class="empty">{complete.value ? `The log has no request ${id} any more.` : 'Loading …'}</p>
      </section>
    )
  const { request: call, exchange } = entry.line
  return (
    <article>
      <Heading
        more={
          <>
            <Status status={call.status} /> {call.code && <span class="code">{call.code}</span>}
            {call.by_operator && <Badge tone="warn">made by the operator, not its caller</Badge>}
            <PlantedFault kind={call.fault} />
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
              {call.method} <Linked text={exchange?.request.url ?? call.path ?? ''} />
            </code>,
          ],
          ['At', <Time at={call.time} />],
          ['Duration', duration(call.duration_ms)],
          ['Voucher', call.voucher_id],
          ['Application', call.application_id && <Name id={call.application_id} />],
          ['Request id', call.request_id],
        ]}
      />
      {exchange === null ? (
        <p class="empty">
          Headers and bodies were not captured. They are while this page is open and the server is not busy, and always
          with <code>--inspect</code>.
        </p>
      ) : (
        <>
          <CopyAs call={call} request={exchange.request} />
          <div class="pair">
            <Message title="Request" message={exchange.request} />
            {exchange.response ? (
              <Message title="Response" message={exchange.response} />
            ) : (
              <p class="empty">No response was sent.</p>
            )}
          </div>
        </>
      )}
    </article>
  )
}
