import type { ComponentChildren } from 'preact'

/** Builds elements from a template; every value becomes a text node, an attribute or an element, never markup. */
export { html } from 'htm/preact'

/** What an element can hold. */
export type Children = ComponentChildren
