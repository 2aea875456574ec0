import { MEDIA_TYPE } from './suite.js'

/** True for the media type of a dispatch; parameters are ignored. */
export function isMediaType(contentType: string | undefined): boolean {
  if (contentType === MEDIA_TYPE) return true
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === MEDIA_TYPE
}
