// The declarations of playwright-core and axe-core name types of the DOM, which Node does not have.
type Document = object
type DOMRect = object
type Element = object
type HTMLElement = object
type HTMLElementTagNameMap = Record<string, object>
type Node = object
type NodeList = object
type SVGElement = object
type Window = object
