import { RequestView } from './request.js'
import { StreamView } from './stream-view.js'
import type { View } from './view.js'

/** Every view of the page, in the order of the navigation. */
export const views: readonly View[] = [
  { path: '/', title: () => 'Stream', nav: 'Stream', view: StreamView },
  { path: '/requests/:id', name: 'requests', title: ({ id }) => `Request ${id}`, view: RequestView },
]
