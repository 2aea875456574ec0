/** Request header with the token of a page. Unlike a cookie, browsers send it only if a script does. */
export const PAGE_TOKEN = 'page-token'

/** Views that a page can have; a listener has deliveries only. */
type PageView = 'requests' | 'vouchers' | 'deliveries' | 'clock' | 'faults' | 'reviews' | 'templates'

/** What the page shows and of which process, from `GET /_platform/ui/features`. */
export interface PageFeatures {
  readonly source: 'server' | 'listener'
  /** Version of the package. */
  readonly version: string
  readonly base_url: string
  readonly test_clock: boolean
  readonly views: readonly PageView[]
  readonly started_at: string
}
