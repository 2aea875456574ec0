import { RequestView } from './request.js'
import { StreamView } from './stream-view.js'
import type { View } from './view.js'
import { ClockView } from './views/clock.js'
import { DeliveriesView } from './views/deliveries.js'
import { DeliveryView } from './views/delivery.js'
import { FaultsView } from './views/faults.js'
import { ReviewsView } from './views/reviews.js'
import { TemplatesView } from './views/templates.js'
import { VoucherView } from './views/voucher.js'
import { VouchersView } from './views/vouchers.js'

/** Every view of the page, in the order of the navigation. */
export const views: readonly View[] = [
  { path: '/', title: () => 'Stream', nav: 'Stream', view: StreamView },
  { path: '/requests/:id', name: 'requests', title: ({ id }) => `Request ${id}`, view: RequestView },
  { path: '/vouchers', name: 'vouchers', title: () => 'Vouchers', nav: 'Vouchers', view: VouchersView },
  { path: '/vouchers/:id', name: 'vouchers', title: ({ id }) => `Voucher ${id}`, view: VoucherView },
  { path: '/deliveries', name: 'deliveries', title: () => 'Deliveries', nav: 'Deliveries', view: DeliveriesView },
  { path: '/deliveries/:id', name: 'deliveries', title: ({ id }) => `Delivery ${id}`, view: DeliveryView },
  { path: '/templates', name: 'templates', title: () => 'Templates', nav: 'Templates', view: TemplatesView },
  { path: '/reviews', name: 'reviews', title: () => 'Reviews', nav: 'Reviews', view: ReviewsView },
  { path: '/clock', name: 'clock', title: () => 'Clock', nav: 'Clock', view: ClockView },
  { path: '/faults', name: 'faults', title: () => 'Faults', nav: 'Faults', view: FaultsView },
]
