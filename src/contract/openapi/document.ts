import { endpoints } from '../index.js'
import { openApiDocument } from './openapi.js'

/** What the server answers, as OpenAPI 3.1: endpoints and schemas loaded together, since they refer to one another. */
export const documentOf = (options: Parameters<typeof openApiDocument>[1]) => openApiDocument(endpoints, options)
