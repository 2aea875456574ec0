// Views of captured requests and of the masking, in a file of their own, because the first view does not need them.
export { RequestView } from './request.js'
export { DeliveryView } from './views/delivery.js'
