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

/** A text whose ids are links to their records. @param most maximum number of links */
export const Linked = ({ text, most }: { readonly text: string; readonly most?: number }) => (
  <>{idParts(text, most).map((part, index) => (index % 2 ? <LinkedId id={part} /> : part))}</>
)

/** Link to a record, with its id or another text; only the text on the page of the record. */
export function LinkedId({ id, children = id }: { readonly id: string; readonly children?: string }) {
  const to = linkOf(id)
  return to === undefined || to === BASE + place.value.path ? <>{children}</> : <a href={to}>{children}</a>
}
