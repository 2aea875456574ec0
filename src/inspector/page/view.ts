import type { VNode } from 'preact'

export interface ViewProps {
  /** Values of the parts of the path, such as `id`. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

export interface View {
  /**
   * Path below the page's address, such as `/requests/:id`. The page leaves the view out if the server does not list its
   * first part in `features.views`.
   */
  readonly path: string
  /** Label in the navigation and the title; a view of one thing has its id as title. */
  readonly nav?: string
  /** The view, or its name in detail.ts, which the page loads when it first shows such a view. */
  readonly view: ((props: ViewProps) => VNode | null) | keyof typeof import('./detail.js')
}
