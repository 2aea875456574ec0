import type { DeliveryDetail } from '../../../../contract/platform/deliveries.js'
import { Linked } from '../../linked.js'

/** Why a receiver with the present secrets refuses a delivery, and likely causes of a refusal. */
export const Advice = ({ verification, hints }: Pick<DeliveryDetail, 'verification' | 'hints'>) => (
  <>
    {verification?.ok === false && (
      <p>
        {verification.explanation} {verification.fix}
      </p>
    )}
    <ul>
      {hints.map(({ text }) => (
        <li>
          <Linked text={text} />
        </li>
      ))}
    </ul>
  </>
)
