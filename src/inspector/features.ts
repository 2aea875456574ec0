/** Request header for the token of a page. Unlike a cookie, it is sent only by a script of the page. */
export const PAGE_TOKEN = 'page-token'

/** Views and process of the page, from `GET /_platform/ui/features`. */
export interface PageFeatures {
  readonly source: 'server' | 'listener'
  /** Version of the package. */
  readonly version: string
  /** Checksum of the page's files: a tab of another build cannot load views of this one. */
  readonly build: string
  readonly base_url: string
  readonly test_clock: boolean
  /** Views by the first part of their paths; a listener has only deliveries. */
  readonly views: readonly string[]
  readonly started_at: string
  /** Command that starts the same process again, without secrets; null for one inside another program. */
  readonly start_command: string | null
  /** True if sessions outlive a restart: the tab then continues when the server is back. */
  readonly keeps_sessions: boolean
}
