// Declares one module of undici 7, which has no other typed entry for it. The main file also loads fetch, WebSocket and
// caches: half of the code, unused here.
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici'
  export default Pool
}
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici'
  export default Client
}
