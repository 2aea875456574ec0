import type { Group } from '../../command/leaf.js'
import { apiCall } from './call.js'
import { routes } from './routes.js'

export const api: Group = {
  name: 'api',
  summary: 'Any route of the server, by method and path',
  own: apiCall,
  commands: [routes],
}
