import type { CapturedExchange } from '../../../contract/platform/activity.js'
import { Copy, copyText } from '../components.js'
import { makeCall } from '../make-call.js'
import { type Call, commandOf, curlOf, isWhole, stepOf } from '../model/copy-as.js'
import { useEndpoints } from '../reference.js'
import { announce, features } from '../state.js'
import type { Recorded } from './log/recording.js'

interface CopyAsProps {
  readonly call: Call
  /** The request as captured, or as `requestOf` makes it for a call that was not made yet. */
  readonly request: CapturedExchange['request']
  /** The dedicated command, if the call has one that is known. */
  readonly command?: string | undefined
}

/** Buttons that copy a call as curl, as a command, as a step of a scenario and, once made, as a test. */
export function CopyAs({ call, request, command = commandOf(request) ?? '' }: CopyAsProps) {
  const endpoints = useEndpoints()
  if (!isWhole(request))
    return <p class="quiet">The call cannot be copied, because its body is not shown as a whole.</p>
  // The credential of a call and the types of its members are known only then.
  if (endpoints === null) return null
  const endpoint = endpoints.get(call.endpoint ?? '')
  const step = stepOf(call, request, endpoint)
  return (
    <p class="actions">
      <Copy label="Copy as curl" text={() => curlOf(request, features.value?.base_url ?? location.origin, endpoint)} />
      {command && <Copy label="as command" text={command} />}
      {step && <Copy label="as scenario step" text={step} />}
      {call.request_id && endpoint && <CopyTest id={call.request_id} />}
    </p>
  )
}

/** The server writes the test, with the steps that create what the call needs. */
function CopyTest({ id }: { readonly id: string }) {
  const copy = async () => {
    const made = await makeCall<Recorded>({ endpoint: 'platform.recordScenario', input: { ids: [id], format: 'test' } })
    if (!made.ok) announce(made.sentence)
    else if (made.data.text === null) announce(`No test can repeat this call: ${made.data.remarks.join(' ')}`)
    else void copyText(made.data.text)
  }
  return (
    <button type="button" class="small" onClick={copy}>
      as test
    </button>
  )
}
