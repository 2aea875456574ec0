import { useState } from 'preact/hooks'
import { updateTypes } from '../../../../contract/page-choices.js'
import type { ShownBot } from '../../../../contract/platform/platform.js'
import type { UpdateType } from '../../../../contract/updates.js'
import { Copied } from '../../components.js'
import { hexOf } from '../../model/format.js'
import { linkTo } from '../../router.js'
import { type Action, ActionForm, Actions } from '../actions.js'
import { wordsOf } from '../members.js'

interface WebhookProps {
  readonly bot: ShownBot
  readonly done: () => void
}

/** Sets and deletes the webhook of a bot, as the account that owns it, and says how a terminal does the same. */
export function Webhook({ bot: { id, account_id, webhook_url, allowed_updates }, done }: WebhookProps) {
  const [chosen, setChosen] = useState<readonly UpdateType[]>()
  const types = chosen ?? allowed_updates
  const toggle = (type: UpdateType) =>
    setChosen(types.includes(type) ? types.filter((it) => it !== type) : [...types, type])
  const [made] = useState(newSecret)
  const as = { kind: 'account', id: account_id } as const
  const set: Action = {
    label: 'Set the webhook',
    fields: {
      url: { label: 'URL', placeholder: 'http://127.0.0.1:3000/hook' },
      secret_token: webhook_url
        ? { label: 'New secret', value: made, optional: true, placeholder: 'as it is' }
        : { label: 'Secret', value: made },
    },
    calls: (values) => [{ endpoint: 'webhook.set', as, input: { botId: id, ...values, allowed_updates: types } }],
    advise: (code, { url = '' }) => code === 'WEBHOOK_URL_REFUSED' && url.startsWith('http:') && loopbackAdvice(url),
    outcome: (_, { secret_token: secret }) =>
      secret ? (
        <>
          The webhook is set. Give its secret to your app now, because it is shown only here:
          <Line text={`export VOUCHERCTL_WEBHOOK_SECRET=${secret}`} />
          Then <a href={linkTo(['chats'], { bot_id: id })}>start a chat</a>: it makes the first update.
        </>
      ) : (
        'The webhook is set, with the secret that it had.'
      ),
  }
  const remove: Action = {
    label: 'Delete the webhook',
    calls: () => [{ endpoint: 'webhook.delete', as, input: { botId: id } }],
  }
  return (
    <section aria-label="Webhook">
      <h2>Webhook</h2>
      <p>
        {webhook_url ? `Updates go to ${webhook_url}` : 'The bot has no webhook: it gets its updates when it polls.'}
      </p>
      <fieldset>
        <legend>Updates</legend>
        {updateTypes.map((it) => (
          <label key={it}>
            <input type="checkbox" checked={types.includes(it)} onChange={() => toggle(it)} /> {wordsOf(it)}
          </label>
        ))}
      </fieldset>
      <ActionForm compact action={set} done={done} />
      {webhook_url && <Actions of="the webhook" done={done} actions={[remove]} />}
      <p>At a terminal, as the account that owns the bot:</p>
      <Line text={`voucherctl login --local --account ${account_id}`} />
      <Line text={`voucherctl webhook set ${id} --url http://127.0.0.1:3000/hook --generate-secret`} />
    </section>
  )
}

const Line = ({ text }: { readonly text: string }) => (
  <p>
    <Copied text={text} />
  </p>
)

const newSecret = () => hexOf(crypto.getRandomValues(new Uint8Array(24)))

const loopbackAdvice = (url: string) =>
  `For a receiver on this machine, start the server with --dev-webhook-loopback ${/:(\d+)/.exec(url)?.[1] ?? 80}, and use http://127.0.0.1.`
