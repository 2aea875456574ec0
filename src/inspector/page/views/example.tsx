import { useState } from 'preact/hooks'
import { shellWord } from '../../../contract/values/shell-word.js'
import { Copy, Failed } from '../components.js'
import { plantExample } from '../model/operator-calls.js'
import { linkTo } from '../router.js'
import { features } from '../state.js'
import { makeCall } from './make-call.js'
import { PlannedCall } from './planned-call.js'

interface Planted {
  readonly applications: readonly {
    readonly id: string
    readonly name: string
    readonly tokens: readonly { readonly token: string }[]
  }[]
  readonly bots: readonly { readonly id: string; readonly username: string; readonly token: string | null }[]
}

/** Plants the example into an empty server, and shows its ids and, once, its tokens. */
export function Example({ close }: { readonly close: () => void }) {
  const [planted, setPlanted] = useState<Planted>()
  const [refusal, setRefusal] = useState('')
  const plant = async () => {
    const result = await makeCall<Planted>(plantExample())
    if (result.ok) setPlanted(result.data)
    else setRefusal(result.sentence)
  }
  if (planted) return <Tokens {...planted} close={close} />
  return (
    <section class="panel" aria-label="Example">
      <p>
        <strong>This server is empty.</strong> The example has a shop with a token, a voucher template that is approved,
        and a bot with a token.
      </p>
      <button type="button" class="primary" onClick={plant}>
        Plant the example
      </button>
      <PlannedCall planned={plantExample()} />
      {refusal && <Failed failure={{ sentence: refusal }} />}
    </section>
  )
}

function Tokens({ applications, bots, close }: Planted & { readonly close: () => void }) {
  const [shop] = applications
  const [bot] = bots
  const variables = {
    VOUCHERCTL_BASE_URL: features.value?.base_url,
    VOUCHERCTL_TOKEN: shop?.tokens[0]?.token,
    VOUCHERCTL_BOT_TOKEN: bot?.token,
  }
  const lines = Object.entries(variables).flatMap(([name, value]) =>
    value ? [`export ${name}=${shellWord(value)}`] : [],
  )
  const listen = `voucherctl webhook listen --bot ${bot?.id} --forward-to http://localhost:3000/hook`
  return (
    <section class="panel" aria-label="Example">
      <p>
        <strong>Planted.</strong> {shop?.name} is <code>{shop?.id}</code>, its bot is <code>{bot?.id}</code>. Copy the
        tokens now: they are shown only once.
      </p>
      <ul class="rows">
        {lines.map((line) => (
          <li>
            <code>{line}</code> <Copy text={line} />
          </li>
        ))}
      </ul>
      <p class="actions">
        <Copy label="Copy all" text={lines.join('\n')} />
      </p>
      <p>
        Next: <a href={linkTo(['templates'])}>open its template</a> to issue a voucher,{' '}
        <a href={linkTo(['chats'], { bot_id: bot?.id ?? '' })}>start a chat with its bot</a>, and let your app receive
        the updates of the bot:
      </p>
      <p class="actions">
        <code>{listen}</code> <Copy text={listen} />
      </p>
      <p class="actions">
        <button type="button" class="small" onClick={close}>
          Close
        </button>
      </p>
    </section>
  )
}
