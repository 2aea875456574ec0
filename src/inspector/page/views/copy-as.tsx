import type { CapturedExchange } from '../../../contract/platform/activity.js'
import { Copy } from '../components.js'
import { type Call, commandOf, curlOf, isWhole, stepOf, testOf } from '../model/copy-as.js'
import { useEndpoints } from '../reference.js'
import { features } from '../state.js'

interface CopyAsProps {
  readonly call: Call
  /** The request as captured, or as `requestOf` makes it for a call that was not made yet. */
  readonly request: CapturedExchange['request']
  /** The dedicated command, if the call has one that is known. */
  readonly command?: string | undefined
}

/** Buttons that copy a call as curl, as a command, as a step of a scenario and as a test. */
export function CopyAs({ call, request, command = commandOf(request) ?? '' }: CopyAsProps) {
  const endpoints = useEndpoints()
  if (!isWhole(request))
    return <p class="quiet">The call cannot be copied, because its body is not shown as a whole.</p>
  // The credential of a call and the types of its members are known only then.
  if (endpoints === null) return null
  const endpoint = endpoints.get(call.endpoint ?? '')
  const step = stepOf(call, request, endpoint)
  const asTest = testOf(call, request, endpoint)
  return (
    <p class="actions">
      <Copy label="Copy as curl" text={() => curlOf(request, features.value?.base_url ?? location.origin, endpoint)} />
      {command && <Copy label="as command" text={command} />}
      {step && <Copy label="as scenario step" text={step} />}
      {asTest && <Copy label="as test" text={asTest} />}
    </p>
  )
}
