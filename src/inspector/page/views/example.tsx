import { useState } from 'preact/hooks'
import type { Planted } from '../../../contract/platform/acting.js'
import { shellWord } from '../../../values/shell-word.js'
import { Copied, Copy } from '../components.js'
import { linkTo } from '../router.js'
import { features } from '../state.js'
import { ActionForm } from './actions.js'

interface ExampleProps {
  readonly close: () => void
}

interface OfferProps extends ExampleProps {
  /** What this tab has planted. */
  readonly planted: Planted | null
  readonly plant: (planted: Planted) => void
}

/** Plants the example into an empty server, and shows its ids and, once, its tokens. */
export function Example({ planted, plant, close }: OfferProps) {
  if (planted) return <Tokens planted={planted} close={close} />
  return (
    <section class="offer" aria-label="Example">
      <ActionForm
        compact
        done={([it]: readonly Planted[]) => it && plant(it)}
        action={{
          label: 'Plant the example',
          note: 'This server is empty. The example has a shop with a token, an active voucher template, and a bot.',
          calls: () => [{ endpoint: 'platform.seedStore', input: {} }],
        }}
      />
      <Close close={close} />
    </section>
  )
}

const Close = ({ close }: ExampleProps) => (
  <button type="button" class="small" onClick={close}>
    Close
  </button>
)

/** Without it the listener signs with a secret that no app knows. */
const SECRET = 'export VOUCHERCTL_WEBHOOK_SECRET=a-secret-of-your-own'

/** What a view has shown: it is open in the first one, and one line in others, which have something else to show. */
let seen: Planted | undefined

function Tokens({ planted, close }: ExampleProps & { readonly planted: Planted }) {
  const [isOpen] = useState(planted !== seen)
  seen = planted
  const [[shop], [bot]] = [planted.applications, planted.bots]
  const variables = {
    VOUCHERCTL_BASE_URL: features.value?.base_url,
    VOUCHERCTL_TOKEN: shop?.tokens[0]?.token,
    VOUCHERCTL_BOT_TOKEN: bot?.token,
  }
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value ?? '')}`)
  const listen = `voucherctl webhook listen --bot ${bot?.id} --forward-to http://localhost:3000/hook`
  const line = (text: string) => (
    <li key={text}>
      <Copied text={text} />
    </li>
  )
  return (
    <section class="panel" aria-label="Example">
      <details open={isOpen}>
        <summary>The example: its tokens and what to do next</summary>
        <p>
          {shop?.name} is <code>{shop?.id}</code>, its bot is <code>{bot?.id}</code>. Copy the tokens now: they are
          shown only once.
        </p>
        <ul class="rows">{lines.map(line)}</ul>
        <p>
          Next: <a href={linkTo(['templates'])}>open its template</a> to issue a voucher,{' '}
          <a href={linkTo(['chats'], { bot_id: bot?.id ?? '' })}>start a chat with its bot</a>,{' '}
          <a href={linkTo(['bots', bot?.id ?? ''])}>set its webhook</a>, or let a terminal forward its updates to your
          app, which needs the same secret. <a href={linkTo(['reference'])}>API</a> has the calls that it can make.
        </p>
        <ul class="rows">{[SECRET, listen].map(line)}</ul>
        <p class="actions">
          <Copy label="Copy all exports" text={lines.join('\n')} />
          <Close close={close} />
        </p>
      </details>
    </section>
  )
}
