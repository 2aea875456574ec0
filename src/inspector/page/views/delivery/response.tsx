import type { AttemptExchange } from '../../../../contract/platform/deliveries.js'
import { PlantedFault, Status, Time } from '../../components.js'
import { duration } from '../../model/format.js'
import { Message } from '../message.js'

interface ResponseProps {
  readonly exchange: Pick<AttemptExchange, 'status' | 'error' | 'duration_ms' | 'response'> & Partial<AttemptExchange>
  readonly open: boolean
}

/** Status, headers and body of a response as the app sent it. */
export function Response({ exchange, open }: ResponseProps) {
  const { status, error, duration_ms, response, at, attempt, manual, replay, fault } = exchange
  const kind = replay || !at ? 'Replay' : attempt ? `Attempt ${attempt}` : manual ? 'Attempt by hand' : 'Sent again'
  return (
    <details open={open} class="response">
      <summary>
        {kind} <Status status={status} /> <PlantedFault kind={fault} />{' '}
        <span class="quiet">
          {at && (
            <>
              <Time at={at} />,{' '}
            </>
          )}
          {duration(duration_ms)}
        </span>
      </summary>
      {error && <p>{error.message}</p>}
      {response && <Message title="Response" message={response} />}
    </details>
  )
}
