import { useState } from 'preact/hooks'
import { approve, type Kind, reject } from '../model/operator-calls.js'
import { type Action, ActionForm, Field } from './actions.js'

interface DecideProps {
  readonly kind: Kind
  readonly id: string
  readonly done: () => void
}

/** Actions that approve or reject a template or a bot. */
export const decisions = (of: DecideProps): readonly Action[] => [
  {
    label: 'Approve',
    form: () => (
      <ActionForm calls={[approve(of.kind, of.id)]} label="Approve" done={of.done} outcome={() => 'Approved.'} />
    ),
  },
  { label: 'Reject', form: () => <Reject {...of} /> },
]

function Reject({ kind, id, done }: DecideProps) {
  const [code, setCode] = useState('')
  const [reason, setReason] = useState('')
  const body = kind === 'template' ? { code, reason } : { note: reason }
  return (
    <ActionForm calls={[reject(kind, id, body)]} label="Reject" done={done} outcome={() => 'Rejected.'}>
      <div class="filters">
        {kind === 'template' && (
          <Field label="Code" value={code} onValue={setCode} required placeholder="unclear_terms" />
        )}
        <Field label="Reason" value={reason} onValue={setReason} required placeholder="Say what it is" />
      </div>
    </ActionForm>
  )
}
