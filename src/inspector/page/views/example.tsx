import type { Planted } from '../../../contract/platform/acting.js'
import { shellWord } from '../../../values/shell-word.js'
import { Copy } from '../components.js'
import { LinkedId } from '../linked.js'
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
  if (planted) return <Tokens {...planted} close={close} />
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

function Tokens({ applications: [shop], bots: [bot], close }: Planted & ExampleProps) {
  const variables = {
    VOUCHERCTL_BASE_URL: features.value?.base_url,
    VOUCHERCTL_TOKEN: shop?.tokens[0]?.token,
    VOUCHERCTL_BOT_TOKEN: bot?.token,
  }
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value ?? '')}`)
  const listen = `voucherctl webhook listen --bot ${bot?.id} --forward-to http://localhost:3000/hook`
  const line = (text: string) => (
    <li key={text}>
      <code>{text}</code> <Copy text={text} />
    </li>
  )
  return (
    <section class="panel" aria-label="Example">
      <p>
        {shop?.name} is <LinkedId id={shop?.id ?? ''} />, its bot is <LinkedId id={bot?.id ?? ''} />. Copy the tokens
        now: they are shown only once.
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
    </section>
  )
}
