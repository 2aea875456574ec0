import { loggedCallOf, type PlannedCall as Planned, pathOf, plannedRequestOf } from '../model/planned-call.js'
import { CopyAs } from './copy-as.js'

interface PlannedCallProps {
  readonly planned: Planned
  /** Shows headers and body without a click. */
  readonly open?: boolean
}

/** The call that a program would make for an action, before it is made. */
export function PlannedCall({ planned, open = false }: PlannedCallProps) {
  const { method, body, idempotencyKey, command } = planned
  const lines = [
    `${method} ${pathOf(planned)}`,
    ...(idempotencyKey ? [`Idempotency-Key: ${idempotencyKey}`] : []),
    ...(body ? ['', JSON.stringify(body, null, 2)] : []),
  ]
  return (
    <details class="planned" open={open}>
      <summary>
        The call <code>{planned.endpoint}</code>
      </summary>
      <pre tabindex={0} role="region" aria-label="The call that a program makes">
        {lines.join('\n')}
      </pre>
      <CopyAs call={loggedCallOf(planned)} request={plannedRequestOf(planned)} command={command} />
    </details>
  )
}
