// The views that show what was sent, and the masking of it: a file of their own, which the first view does not load.
export { RequestView } from './request.js'
export { DeliveryView } from './views/delivery.js'
