import { useRef, useState } from 'preact/hooks'
import type { ShownBot } from '../../../../contract/platform/platform.js'
import type { UpdateType } from '../../../../contract/updates.js'
import { Copy } from '../../components.js'
import { type Action, ActionForm } from '../actions.js'
import { updateTypes } from '../delivery/deliveries.js'
import { wordsOf } from '../members.js'

interface WebhookProps {
  readonly bot: ShownBot
  readonly done: () => void
}

/** Sets and deletes the webhook of a bot, as the account that owns it, and says how a terminal does the same. */
export function Webhook({ bot: { id, account_id, webhook_url, allowed_updates }, done }: WebhookProps) {
  const [chosen, setChosen] = useState<readonly UpdateType[]>()
  const [made] = useState(newSecret)
  const typed = useRef(made)
  const [secret, setSecret] = useState('')
  const types = chosen ?? allowed_updates
  const toggle = (type: UpdateType) =>
    setChosen(types.includes(type) ? types.filter((it) => it !== type) : [...types, type])
  const of = { input: { botId: id }, as: { kind: 'account', id: account_id } } as const
  const set: Action = {
    label: 'Set the webhook',
    fields: {
      url: { label: 'URL', placeholder: 'http://127.0.0.1:3000/hook' },
      secret_token: webhook_url
        ? { label: 'New secret', value: made, optional: true, placeholder: 'as it is' }
        : { label: 'Secret', value: made },
    },
    calls: (values) => {
      typed.current = values.secret_token ?? ''
      return [{ ...of, endpoint: 'webhook.set', input: { ...of.input, ...values, allowed_updates: types } }]
    },
    advise: (code, { url = '' }) => code === 'WEBHOOK_URL_REFUSED' && url.startsWith('http:') && loopbackAdvice(url),
    outcome: () => (secret ? <Secret value={secret} /> : 'The webhook is set, with the secret that it had.'),
  }
  const noteSet = ([it]: readonly unknown[]) => {
    if (it) setSecret(typed.current)
    done()
  }
  return (
    <section aria-label="Webhook">
      <h2>Webhook</h2>
      <p>
        {webhook_url ? (
          <>
            Updates go to <code>{webhook_url}</code>
          </>
        ) : (
          'The bot has no webhook: it gets its updates when it polls.'
        )}
      </p>
      <fieldset>
        <legend>Updates</legend>
        {updateTypes.map((it) => (
          <label key={it}>
            <input type="checkbox" checked={types.includes(it)} onChange={() => toggle(it)} /> {wordsOf(it)}
          </label>
        ))}
      </fieldset>
      <ActionForm compact action={set} done={noteSet} />
      {webhook_url && (
        <ActionForm
          compact
          done={done}
          action={{ label: 'Delete the webhook', calls: () => [{ ...of, endpoint: 'webhook.delete' }] }}
        />
      )}
      <p>At a terminal, as the account that owns the bot:</p>
      <ul class="rows">
        {[
          `voucherctl login --local --account ${account_id}`,
          `voucherctl webhook set ${id} --url http://127.0.0.1:3000/hook --generate-secret`,
        ].map((it) => (
          <li key={it}>
            <code>{it}</code> <Copy text={it} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24))
  return Array.from(bytes, (it) => it.toString(16).padStart(2, '0')).join('')
}

const loopbackAdvice = (url: string) =>
  `For a receiver on this machine, start the server with --dev-webhook-loopback ${/:(\d+)/.exec(url)?.[1] ?? 80}, and use http://127.0.0.1.`

/** The secret of the webhook, which no call returns. */
function Secret({ value }: { readonly value: string }) {
  const line = `export VOUCHERCTL_WEBHOOK_SECRET=${value}`
  return (
    <p>
      The webhook is set. Give its secret to your app now, because it is shown only here: <code>{line}</code>{' '}
      <Copy text={line} />
    </p>
  )
}
