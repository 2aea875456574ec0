import { useEffect, useState } from 'preact/hooks'
import type { DeliveryDetail } from '../../../../contract/platform/deliveries.js'
import { KeyValue, Time } from '../../components.js'
import { bytesOf } from '../../model/bytes.js'
import { count } from '../../model/format.js'
import { verdictOf } from '../../model/secret-verdict.js'
import { checkSecret } from '../../model/signature-check.js'
import { Message } from '../message.js'

/** The signed text, the secrets that signed it, and a check of a pasted secret. */
export function Signature({ detail }: { readonly detail: DeliveryDetail }) {
  const { signature, request, body } = detail
  if (!signature || body === null) {
    return <p class="empty">The bytes of this update are deleted, so that it has no signature.</p>
  }
  const { timestamp, prefix, signed_bytes, secrets } = signature
  const length = signed_bytes - prefix.length
  return (
    <section>
      <h2>Signature</h2>
      <ol class="signed">
        <li>
          <code>{timestamp}</code> timestamp, <Time at={new Date(timestamp * 1000).toISOString()} />
        </li>
        <li>
          <code>.</code> a dot
        </li>
        <li>
          <code>{count(length)} bytes</code> the body as it is sent
        </li>
      </ol>
      <p>HMAC-SHA256 of these {count(signed_bytes)} bytes, with the secret as key, is</p>
      <KeyValue
        items={secrets.map((secret) => [
          `${secret.which} secret`,
          <>
            <code>{secret.signature}</code>
            <p class="quiet">
              {secret.sent ? 'in' : 'not in'} the header X-Platform-Signature-V2
              {secret.until && [', until ', <Time at={secret.until} />]}
            </p>
          </>,
        ])}
      />
      <Check detail={detail} body={body} signature={signature} />
      <details>
        <summary>Headers and body</summary>
        <Message title="Request" message={{ headers: request?.headers ?? [], body, body_bytes: length }} />
      </details>
    </section>
  )
}

interface CheckProps {
  readonly detail: DeliveryDetail
  readonly body: string
  readonly signature: NonNullable<DeliveryDetail['signature']>
}

/** Signatures in the request header. */
const sentWith = ({ request }: DeliveryDetail) =>
  request?.headers.flatMap(([name, value]) => (/^x-platform-signature-v2$/i.test(name) ? value.split(',') : [])) ?? []

/** Field for the app's secret, which never leaves this page. */
function Check({ detail, body, signature: { prefix, secrets } }: CheckProps) {
  const [secret, setSecret] = useState('')
  const [verdict, setVerdict] = useState<ReturnType<typeof verdictOf>>()
  useEffect(() => {
    let current = true
    setVerdict(undefined)
    const delivery = {
      prefix,
      body: bytesOf(body),
      signatures: [...secrets.map((it) => it.signature), ...sentWith(detail)],
    }
    if (secret) void checkSecret(secret, delivery).then((found) => current && setVerdict(verdictOf(found, detail)))
    return () => {
      current = false
    }
  }, [secret, detail])
  const [tone = 'quiet', text = 'Paste it to compare. It stays in this page.'] = verdict ?? []
  return (
    <div class="check">
      <label>
        Secret that the app uses{' '}
        <input
          value={secret}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setSecret(event.currentTarget.value)}
        />
      </label>
      <p role="status" class={tone}>
        {text}
      </p>
    </div>
  )
}
