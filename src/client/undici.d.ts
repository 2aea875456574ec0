// The main file of undici 7 also loads fetch, WebSocket and caches: half of its code, which nothing here uses. Its
// package has no other typed entry.
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici'
  export default Pool
}
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici'
  export default Client
}
