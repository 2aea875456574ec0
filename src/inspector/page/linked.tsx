import { idParts, listOfId } from './model/ids.js'
import { BASE, linkTo, place } from './router.js'
import { features } from './state.js'

/** Address of a record by its id; undefined where this page has no view of it. An application has its calls. */
export function linkOf(id: string): string | undefined {
  const list = listOfId(id)
  // A listener has none of these records, not even the deliveries of the platform by their ids.
  if (list === undefined || features.value?.source !== 'server') return undefined
  return list ? linkTo([list, id]) : linkTo([], { application: id })
}

interface LinkedProps {
  readonly text: string
  /** Maximum number of links. */
  readonly most?: number
}

/** A text whose ids are links to their records. */
export const Linked = ({ text, most }: LinkedProps) => (
  <>{idParts(text, most).map((part, index) => (index % 2 ? <LinkedId id={part} /> : part))}</>
)

interface LinkedIdProps {
  readonly id: string
  /** Text of the link, in place of the id. */
  readonly children?: string
}

/** Link to a record; only its text on the page of the record. */
export function LinkedId({ id, children = id }: LinkedIdProps) {
  const to = linkOf(id)
  return to === undefined || to === BASE + place.value.path ? <>{children}</> : <a href={to}>{children}</a>
}
