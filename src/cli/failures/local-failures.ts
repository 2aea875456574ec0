import { failures } from '../../contract/errors.js'

/** Properties of a failure that voucherctl itself detects. */
interface LocalFailure {
  /** Exit code of a command that ends with this failure. */
  readonly exit: number
  readonly message: string
  readonly fix: string
  /** Causes that neither message nor fix names. */
  readonly cause?: string | undefined
}

const local = (exit: number, message: string, fix: string, cause?: string): LocalFailure => ({
  exit,
  message,
  fix,
  cause,
})

const WALK = '`voucherctl secure check` walks through the protocol step by step.'

const notEmpty = failures.STORE_NOT_EMPTY

/** The failures that voucherctl itself detects; of their codes, responses of a server have STORE_NOT_EMPTY alone. */
export const localFailures = {
  UNEXPECTED: local(1, 'voucherctl failed unexpectedly.', 'Run it again with --debug to see where, and report it.'),
  SERVER_START_FAILED: local(
    1,
    'The local server did not start.',
    'Read its log: `voucherctl server logs`. `voucherctl doctor` checks this machine.',
    'The process ended, or did not become ready in time.',
  ),
  SERVER_STOP_FAILED: local(
    1,
    'The local server was not stopped.',
    'See which one runs: `voucherctl server status`.',
    'Its process belongs to another user, does not respond, or is another program with the same id.',
  ),
  EADDRINUSE: local(1, 'The port is in use.', 'Choose another one with --port, or 0 for any that is free.'),
  EACCES: local(
    1,
    'The port is not open to you.',
    'Choose a --port from 1024 on.',
    'Ports below 1024 are for administrators.',
  ),
  DATA_FOLDER_IN_USE: local(
    1,
    'Another process uses the data folder.',
    'Use the server that runs (`voucherctl server status`), stop it (`voucherctl server stop`), or choose another folder with --data.',
    'A server runs on it, or an export or import.',
  ),
  STORE_UNUSABLE: local(
    1,
    'The store cannot be used.',
    'Read the message, and restore a backup if the file is damaged: `voucherctl server import --help`.',
    'The database is damaged, is not a store of voucherctl, was written by a newer version, or its disk is full.',
  ),
  STORE_POOLED: local(
    1,
    'A pooler in front of PostgreSQL changes the session between statements.',
    'Set pool_mode = session in pgbouncer.ini, or name the address of PostgreSQL itself. The guide: `voucherctl help running`.',
    'The pooler is in transaction or statement mode, in which time limits, session locks and notices are lost.',
  ),
  STORE_ELSEWHERE: local(
    1,
    'The data folder belongs to another store.',
    'Use it as before, with or without VOUCHERCTL_DATABASE_URL, or choose another folder with --data. `voucherctl server start --new-store` leaves its store for another.',
  ),
  STORE_CLOCK_MOVED: local(
    1,
    'The test clock of the store was moved.',
    'Start it on that clock: `voucherctl server start --test-clock`. `voucherctl platform reset` then empties it and returns to the true time.',
  ),
  DATABASE_UNREACHABLE: local(
    1,
    'PostgreSQL does not respond.',
    'Check --database-url or VOUCHERCTL_DATABASE_URL.',
    'It does not run, its address or password is wrong, or a firewall is between.',
  ),
  SQLITE_MISSING: local(
    1,
    'The server needs SQLite.',
    'Use Node 22.13 or later, or install without --omit=optional.',
    'This version of Node has none, and the optional package is not installed.',
  ),
  KEYS_UNUSABLE: local(
    1,
    'The keys of the data folder cannot be used.',
    'Set its mode to 0600, or restore it from a backup.',
    'A key file is damaged, cannot be read, or is open to other users.',
  ),
  OPERATOR_NOT_LOOPBACK: local(
    1,
    'The operator API is for this machine only.',
    'Leave --host out, or start it with --operator off.',
    'The server was to listen on an address that others reach.',
  ),
  FILE_UNWRITABLE: local(
    1,
    'A file or standard output cannot be written.',
    'Choose another path, or correct its permissions.',
    'The disk is full, the folder is missing, or you may not write there.',
  ),
  RECEIVER_WRONG: local(
    1,
    'A webhook receiver accepted a delivery that it must refuse, or refused one that it must accept.',
    'Correct the receiver. The guide: `voucherctl help webhook-library`.',
    'The receiver does not check signature, timestamp or duplicates as the interface demands.',
  ),
  JQ_FAILED: local(
    1,
    'The --jq filter failed; the command itself was done.',
    'See the data with --json, or filter item by item with -o jsonl.',
    'The filter does not fit the data, or the data is too large for it.',
  ),
  JQ_NOT_STARTED: local(
    1,
    'jq cannot start. Nothing was sent.',
    'Set NODE_OPTIONS=--disable-wasm-trap-handler, or pipe the result of --json to the program jq.',
    'A limit of virtual memory (`ulimit -v`) is below the address space that WebAssembly reserves.',
  ),
  USAGE: local(
    2,
    'The command line is wrong.',
    'Add --help to the command.',
    'A command, flag or value is unknown, or two of them contradict each other.',
  ),
  INVALID_INPUT: local(
    2,
    'The input cannot be sent.',
    'Correct the value that the message names.',
    'A file is not JSON, or a value does not fit a path or header.',
  ),
  CONFIG_INVALID: local(
    2,
    'A configuration file is invalid.',
    'Correct what the message names: `voucherctl doctor` checks all of them.',
    'It was edited by hand, or cut.',
  ),
  FOLDER_INVALID: local(
    2,
    'A variable that names a folder is wrong.',
    'Set it to an absolute path, such as `export HOME=/home/you`. `voucherctl doctor` checks all of them.',
    'HOME is relative, or it or VOUCHERCTL_CONFIG_DIR begins with a ~ that no shell replaced.',
  ),
  CREDENTIAL_UNENCRYPTED: local(
    2,
    'A credential would travel unencrypted.',
    'Nothing was sent. Use an https base URL (--base-url, or `voucherctl profiles set` to store it), or --secure required.',
    'The profile is a production one and the base URL is plain http.',
  ),
  PROXY_INVALID: local(
    2,
    'A proxy variable is malformed.',
    'Correct or unset the variable that the message names: HTTPS_PROXY or HTTP_PROXY, or its lower-case form. Nothing was sent.',
    'It is no URL such as http://proxy.example:3128.',
  ),
  WRITE_NOT_ALLOWED: local(
    2,
    'A tool for models may not change this server.',
    'Use a server on this machine, or let the user start `voucherctl mcp serve --allow-write`; with a production profile tools only read.',
    'The server is on another machine, or the profile is a production one.',
  ),
  REDEEM_CODE_MISTYPED: local(
    2,
    'The redeem code has a typing mistake.',
    'Read it again from the voucher, or scan its QR code.',
    'Its check symbol does not fit the others.',
  ),
  JQ_INVALID: local(
    2,
    'The --jq filter is invalid.',
    'Put it into single quotes. Nothing was sent.',
    'A mistake in its syntax; often the shell removed quotes.',
  ),
  UNKNOWN_FIELD: local(
    2,
    '--fields names a member that does not exist.',
    'Choose from those that the hint lists.',
    'A typing mistake, or a member of another command.',
  ),
  FILE_UNREADABLE: local(
    2,
    'A file cannot be read.',
    'Check path and permissions.',
    'It is missing, a folder, too large, or you may not read it.',
  ),
  INBOX_FORMAT: local(
    2,
    'The inbox has a format that this version cannot read.',
    'Move the file away, or choose another folder with --inbox.',
    'A newer version wrote it, or the file is damaged.',
  ),
  EXPORT_UNUSABLE: local(
    2,
    'The export cannot be imported.',
    'Make it again: `voucherctl server export --help`.',
    'The file is cut, changed, or from a newer version.',
  ),
  INPUT_REQUIRED: local(
    3,
    'A value is missing.',
    'Give the flag or argument that the message names.',
    'It is asked for on a terminal only, and never with --no-input.',
  ),
  CONFIRMATION_REQUIRED: local(
    3,
    'The command needs a confirmation.',
    'Add --yes.',
    'It destroys something, and nobody could be asked, or the answer was no.',
  ),
  BASE_URL_REQUIRED: local(
    3,
    'No server is chosen.',
    'Start one with `voucherctl server start --detach`, or name one with --base-url or VOUCHERCTL_BASE_URL; `voucherctl server list` shows those that run.',
    'No flag, variable or profile names one, and no server runs in the default data folder.',
  ),
  CREDENTIAL_REQUIRED: local(
    3,
    'There is no credential of the kind that the command needs for this server.',
    'Store one: `voucherctl login`, `voucherctl tokens create --save` or `voucherctl bots get --save`.',
    'Nothing was stored, or it was stored for another server.',
  ),
  OFFER_UNUSABLE: local(
    2,
    'The template or bot for `voucherctl conform` cannot be used.',
    'Offer another: `voucherctl bots list` shows bots; without --template the run makes its own.',
    'The template has no vouchers left or is not active, or the bot has a webhook.',
  ),
  PROBES_SKIPPED: local(
    4,
    'Probes of `voucherctl conform` were skipped for lack of a credential, or the platform refused one.',
    'Store each: `voucherctl login --with-token -`; or skip missing ones with --allow-skips.',
  ),
  PROFILE_NOT_FOUND: local(
    5,
    'There is no such profile.',
    'See them with `voucherctl profiles list`; `voucherctl login` creates one.',
    'The name is mistyped, or nothing was stored under it.',
  ),
  DELIVERY_NOT_RECORDED: local(
    5,
    'The inbox has no such delivery.',
    'See them with `voucherctl webhook inbox list`.',
    'The id is mistyped, or belongs to another inbox.',
  ),
  INBOX_NOT_FOUND: local(
    5,
    'There is no such inbox.',
    'Receive something: `voucherctl webhook listen --help`.',
    'Nothing was received yet, or --inbox is mistyped.',
  ),
  STORE_NOT_FOUND: local(
    5,
    'There is no store in the data folder.',
    'Name the folder with --data.',
    'No server ran with it yet, or --data is mistyped.',
  ),
  RESULTS_IN_USE: local(6, 'Another run writes to the results.', 'Wait for it, or choose another --out.'),
  KEYS_IN_GRACE: local(6, 'The keys were rotated a moment ago.', 'Wait until the grace period ends, or add --force.'),
  STORE_NOT_EMPTY: local(6, notEmpty.message, notEmpty.cliFix, notEmpty.cause),
  RECEIVER_REFUSED: local(
    8,
    'The webhook receiver refused the delivery.',
    'Compare the secrets: `voucherctl webhook verify --help`.',
    'It has another secret, or does not take this type.',
  ),
  NOTHING_PROVED: local(
    2,
    'The program could not be tried.',
    'Read the message: it names what the program must do undisturbed.',
    'It fails undisturbed, does not call the server, changes by itself, or does not end.',
  ),
  PROBES_UNTESTED: local(
    9,
    'The platform was not reachable for probes of `voucherctl conform`.',
    'See that it runs, and repeat the command: with --out FILE, --resume tests only the rest.',
    'It stopped, or refused calls with 429 or 503 for longer than --max-wait or a minute.',
  ),
  RECEIVER_FAILED: local(
    9,
    'The webhook receiver failed.',
    'Read its log.',
    'It responded with 5xx, or with something that is not HTTP.',
  ),
  LOCAL_SERVER_NOT_RUNNING: local(
    9,
    'No local server runs with this data folder.',
    'Start it: `voucherctl server start --detach`.',
  ),
  NETWORK_ERROR: local(
    9,
    'There was no connection to the server, or it broke.',
    'Check the base URL (`voucherctl profile show --explain`) and that the server runs (on this machine: `voucherctl server list`).',
    'It does not run, the address is wrong, or a firewall, proxy or certificate is in the way.',
  ),
  CERTIFICATE_UNTRUSTED: local(
    9,
    'The certificate of the server is not trusted. Nothing was sent.',
    'If you trust it, name its file before the start: `export NODE_EXTRA_CA_CERTS="$PWD/server.pem"`. How to get the file, and what helps otherwise: `voucherctl doctor`.',
    'It is self-signed, has an unknown authority, is for another host name, or has expired.',
  ),
  TIMEOUT: local(
    9,
    'The server did not respond in time.',
    'Give it more time with --timeout 60s, or check the server.',
    'It is overloaded, or the network is slow.',
  ),
  INVALID_RESPONSE: local(
    9,
    'The response does not come from a voucher service.',
    'Check the base URL (`voucherctl profile show --explain`), and what stands between: the login page of a network, a proxy.',
    'The base URL belongs to another server, or a proxy responded.',
  ),
  SECURE_BOOTSTRAP_INVALID: local(
    10,
    'The server offers no valid encrypted transport.',
    `Nothing was sent. ${WALK}`,
    'It is another service, or something between changed the response.',
  ),
  SECURE_SESSION_INVALID: local(
    10,
    'The encrypted session is not valid.',
    `Nothing was sent. ${WALK}`,
    'The server did not prove its key, or something between changed the response.',
  ),
  SECURE_PIN_MISMATCH: local(
    10,
    'The key of the server is not a pinned one.',
    'Nothing was sent. Ask the operator for the pin of the current key; `voucherctl secure pin` shows the one that is served. If the server is yours: `voucherctl secure pin --save`.',
    'The key was rotated, or another server responds.',
  ),
  SECURE_ANSWER_INVALID: local(
    10,
    'The encrypted response cannot be read.',
    WALK,
    'Something between changed it, or the server differs in its protocol.',
  ),
  SECURE_ANSWER_REFUSED: local(
    10,
    'The encrypted transport was refused without a known code.',
    'Check the base URL, and what stands between; `voucherctl secure check` shows each step.',
    'A proxy or another server responded.',
  ),
  SECURE_PLAIN_REFUSED: local(
    10,
    'The call cannot be encrypted, and encryption is required.',
    'Use an https base URL for it.',
    'The route is not part of the encrypted transport.',
  ),
  NOT_ALL_ARRIVED: local(
    124,
    'The deliveries that --expect names did not all arrive in time.',
    'List what arrived: `voucherctl webhook inbox list`.',
    'They were not sent, were refused, or --timeout is too short.',
  ),
  ABORTED: local(
    130,
    'The command was interrupted.',
    'Run it again; a repeat of issue, redeem and reverse needs the same --idempotency-key.',
    'Ctrl-C, or a prompt that was cancelled.',
  ),
} as const satisfies Record<string, LocalFailure>

export type LocalCode = keyof typeof localFailures

export const isLocalCode = (code: string): code is LocalCode => Object.hasOwn(localFailures, code)
