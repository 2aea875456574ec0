import type { Group } from '../leaf.js'
import { apiCall } from './api-call.js'
import { routes } from './api-routes.js'

export const api: Group = {
  name: 'api',
  summary: 'Any route of the server, by method and path',
  own: apiCall,
  commands: [routes],
}
