import { useState } from 'preact/hooks'
import { KeyValue, PlantedFault, Status, Time } from '../components.js'
import { Linked, LinkedId } from '../linked.js'
import { type AxisItem, type AxisRow, inOrder, lanes } from '../model/axis.js'
import { Message } from './message.js'
import { StateBadge } from './state-badge.js'

interface AxisProps {
  readonly label: string
  readonly rows: readonly AxisRow[]
  readonly newestFirst?: true
  /** Shows the newest response. */
  readonly openNewest?: true
}

const isResponse = ({ lane, messages }: AxisItem) => lane === 'receiver' && (messages?.length ?? 0) > 0

/** What happened in order of time, beside each other what a call, the platform and the receiver did. */
export function Axis({ label, rows, newestFirst, openNewest }: AxisProps) {
  const timed = inOrder(rows)
  const newest = timed.findLast(({ row }) => row.some(isResponse))
  return (
    <div class="timeline">
      <p class="lanes" aria-hidden="true">
        {lanes.map((lane) => (
          <span>{lane}</span>
        ))}
      </p>
      <ol aria-label={label}>
        {(newestFirst ? timed.toReversed() : timed).map((it) => (
          <li key={`${it.at} ${it.row[0]?.title}`} class={it.row[0]?.isFuture && 'future'}>
            <div class="lanes">
              {it.row.map((item) => (
                <Cell key={item.lane} item={item} isOpen={openNewest === true && it === newest && isResponse(item)} />
              ))}
            </div>
            <p class="at">
              <Time at={it.at} /> {it.gap}
            </p>
          </li>
        ))}
      </ol>
    </div>
  )
}

/** @param isOpen applies until the user opens or closes the details */
function Cell({ item, isOpen }: { readonly item: AxisItem; readonly isOpen: boolean }) {
  const [open = isOpen, setOpen] = useState<boolean>()
  const { lane, title, tone = '', id, status, state, fault, note, facts = [], messages = [] } = item
  const known = facts.filter(([, value]) => value)
  const line = (
    <>
      {state && <StateBadge status={state} />} {status !== undefined && <Status status={status} />}{' '}
      <PlantedFault kind={fault} />{' '}
      {note && (
        <span class="quiet">
          <Linked text={note} />
        </span>
      )}
    </>
  )
  const toggle = (event: Event) => {
    event.preventDefault()
    setOpen(!open)
  }
  return (
    <div class={`${lane} ${tone}`}>
      <strong>{id ? <LinkedId id={id}>{title}</LinkedId> : title}</strong> <span class="lane">{lane}</span>
      {known.length + messages.length === 0 ? (
        <p>{line}</p>
      ) : (
        <details open={open}>
          <summary onClick={toggle}>
            {line} <span class="unseen">Details of {title}</span>
          </summary>
          {open && known.length > 0 && <KeyValue items={known} />}
          {open && messages.map((it) => <Message {...it} of={`${title} at ${item.at}`} />)}
        </details>
      )}
    </div>
  )
}
