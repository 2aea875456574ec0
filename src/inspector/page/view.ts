import type { VNode } from 'preact'
import type { PageView } from '../features.js'

export interface ViewProps {
  /** Values of the parts of the path, such as `id`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

export interface View {
  /** Path below the page's address, such as `/requests/:id`. */
  readonly path: string
  /** Name in `features.views`, without which the page leaves the view out; the stream has none. */
  readonly name?: PageView
  /** Title of the window. */
  readonly title: (params: Readonly<Record<string, string>>) => string
  /** Label in the navigation. */
  readonly nav?: string
  readonly view: (props: ViewProps) => VNode | null
}
