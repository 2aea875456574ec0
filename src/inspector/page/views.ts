import { StreamView } from './stream-view.js'
import type { View } from './view.js'
import { ClockView } from './views/clock.js'
import { DeliveriesView } from './views/deliveries.js'
import { FaultsView } from './views/faults.js'
import { ReviewsView } from './views/reviews.js'
import { TemplatesView } from './views/templates.js'
import { VoucherView } from './views/voucher.js'
import { VouchersView } from './views/vouchers.js'

/** Every view of the page, in the order of the navigation. */
export const views: readonly View[] = [
  { path: '/', nav: 'Stream', view: StreamView },
  { path: '/requests/:id', view: 'RequestView' },
  { path: '/vouchers', nav: 'Vouchers', view: VouchersView },
  { path: '/vouchers/:id', view: VoucherView },
  { path: '/deliveries', nav: 'Deliveries', view: DeliveriesView },
  { path: '/deliveries/:id', view: 'DeliveryView' },
  { path: '/templates', nav: 'Templates', view: TemplatesView },
  { path: '/reviews', nav: 'Reviews', view: ReviewsView },
  { path: '/clock', nav: 'Clock', view: ClockView },
  { path: '/faults', nav: 'Faults', view: FaultsView },
]
