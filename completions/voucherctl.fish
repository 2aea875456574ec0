# Completion of voucherctl for fish. Made from the command tree: voucherctl completion fish

function __voucherctl_commands
    switch "$argv"
        case ''
            printf '%s\t%s\n' \
                quickstart 'Issue, verify, redeem and reverse a voucher on a temporary server' \
                doctor 'Check machine, configuration, server and credentials' \
                login 'Store a credential in a profile' \
                logout 'Remove the credentials of a profile' \
                whoami 'Show who the stored credentials are' \
                profiles 'Servers and credentials under a name: list, use, show, set, remove' \
                apps 'Applications: list, create, get, update, link-bot, unlink-bot' \
                tokens 'Application tokens: list, create, revoke' \
                templates 'Voucher templates: list, create, submit' \
                vouchers 'Issue one or many, verify, redeem, reverse' \
                bots 'Bots: apply, token, profile, metrics, send, updates' \
                webhook 'Of a bot: set, deliveries, retry; local: listen, replay, trigger …' \
                secure 'The encrypted transport: bootstrap, session, call, check, pin' \
                conform 'Whether a platform behaves like the reference, rule by rule' \
                prove 'Whether a program redeems twice, loses a voucher or gives goods away' \
                load 'Calls at a rate against a platform: latencies, errors, assertions' \
                server 'The bundled reference server: start, status, stop, logs, openapi' \
                open 'The page of a local server, in the browser' \
                platform 'The operator\'s side: reviews, approvals, chats, clock, faults' \
                api 'Any route by method and path, as JSON or as curl; api routes lists them' \
                scenario 'Scenarios: calls in YAML files, run and checked: run, init, record' \
                mcp 'Tools for models over the Model Context Protocol: serve, install, tools' \
                evidence 'What proves each rule' \
                explain 'What a failure code means, its causes, what to do' \
                commands 'List every command with its flags; --json for scripts' \
                completion 'Completion of the shell: bash, zsh, fish, powershell, install' \
                help 'Help of a command or a topic'
        case 'profiles' 'profile'
            printf '%s\t%s\n' \
                list 'List the profiles' \
                use 'Make a profile the current one' \
                show 'Show a profile, or where each setting comes from' \
                set 'Make a profile, or change its settings' \
                remove 'Remove a profile with its credentials'
        case 'apps' 'app'
            printf '%s\t%s\n' \
                list 'List the applications of the account' \
                create 'Create an application' \
                get 'Read an application' \
                update 'Change an application' \
                link-bot 'Link a bot, so that it can deliver vouchers of the application' \
                unlink-bot 'Unlink a bot; templates, vouchers and tokens stay'
        case 'tokens' 'token'
            printf '%s\t%s\n' \
                list 'List the tokens of an application' \
                create 'Create an application token; its full value is shown once' \
                revoke 'Revoke a token'
        case 'templates' 'template'
            printf '%s\t%s\n' \
                list 'List the templates of the application' \
                get 'One template, by its id or your own id' \
                create 'Create a template as a draft' \
                submit 'Submit a draft or rejected template for review' \
                apply 'Create and submit the templates of a file that the server lacks' \
                diff 'Compare a template file with the templates of the server' \
                init 'Write a template file to start from'
        case 'vouchers' 'voucher'
            printf '%s\t%s\n' \
                issue 'Issue a voucher of an active template to a user' \
                issue-many 'Issue one voucher for each row of a CSV or NDJSON file' \
                verify-many 'Verify the voucher of each row of a CSV or NDJSON file' \
                redeem-many 'Redeem the voucher of each row of a CSV or NDJSON file' \
                reverse-many 'Reverse the redemption of each row of a CSV or NDJSON file' \
                sheet 'Write a sheet to print: QR code and text of each voucher of a file' \
                verify 'Check whether a voucher can be redeemed' \
                redeem 'Redeem a voucher' \
                redemption 'Read a redemption' \
                reverse 'Reverse a redemption'
        case 'bots' 'bot'
            printf '%s\t%s\n' \
                list 'List the bots of the account' \
                apply 'Apply for a bot; its token follows the approval' \
                get 'Read a bot; the first read after the approval shows its token once' \
                update 'Change the profile of an approved bot' \
                regenerate-token 'Replace the bot token; the old one stops working immediately' \
                metrics 'Read the metrics of a bot for the last 24 hours' \
                send 'Send a message to a chat' \
                updates 'Read the updates of a bot; offset confirms those before it'
        case 'webhook' 'webhooks'
            printf '%s\t%s\n' \
                set 'Deliver the updates of a bot to a URL' \
                delete 'Delete the webhook of a bot; its updates can be polled from then on' \
                info 'Read how the updates of the calling bot are delivered' \
                deliveries 'List the deliveries of a bot' \
                retry 'Retry a delivery immediately, by its delivery id or update_id' \
                listen 'Receive webhooks on this machine: verify, record and forward them' \
                inbox 'What `webhook listen` has recorded' \
                replay 'Send recorded deliveries to the application again' \
                trigger 'Send a made-up update to a receiver, also with a mistake on purpose' \
                sign 'Sign a body as the platform signs a delivery' \
                verify 'Verify a recorded delivery, and say why it fails'
        case 'webhook inbox' 'webhooks inbox'
            printf '%s\t%s\n' \
                list 'Deliveries that were recorded, the newest last' \
                show 'One delivery: headers as received, body, verdict, and responses' \
                clear 'Remove recorded deliveries: all of them, or the old ones'
        case 'secure'
            printf '%s\t%s\n' \
                bootstrap 'Show what the server says of its encrypted transport' \
                session 'Open a session and show it' \
                call 'Make any call through the encrypted transport' \
                check 'Walk through the protocol of a server, step by step' \
                pin 'Show the pin of the server key, or store it in the profile'
        case 'server' 'servers'
            printf '%s\t%s\n' \
                start 'Start the reference server' \
                list 'List the local servers that run, of any data folder and in memory' \
                env 'Print export lines for a shell: base URL and credentials' \
                status 'Show whether a local server runs; exits with 1 when none does' \
                stop 'Stop the local server; it finishes what is in flight' \
                logs 'Show the requests of the local server, or the log of its last detached run' \
                keys 'Keys of the encrypted transport' \
                openapi 'Print the OpenAPI 3.1 document of the interface, or write a reference to read' \
                migrate 'Bring the schema of a PostgreSQL database up to date' \
                export 'Write all that a store holds into one file, as a backup or to move it' \
                import 'Fill an empty store with what `server export` has written'
        case 'server keys' 'server key' 'servers keys' 'servers key'
            printf '%s\t%s\n' \
                list 'List the keys of the encrypted transport' \
                rotate 'Replace the current key of the encrypted transport with the next one'
        case 'platform'
            printf '%s\t%s\n' \
                reviews 'List templates and bots that wait for review' \
                find 'Find records by code, id, own id, user, username or a word of a name' \
                templates 'List templates with their quota, and decide on them' \
                bots 'List bots, decide on them, disable them, make updates for them' \
                apps 'List applications, suspend them and set their features' \
                users 'Act as a user: start a chat, send a message, block the bot' \
                chats 'Chats, and what was said in them' \
                vouchers 'Vouchers of every application, and their history' \
                deliveries 'Webhook deliveries of every bot, their signatures, and replays' \
                totals 'Count issued and redeemed vouchers over time' \
                clock 'The test clock of a server started with --test-clock' \
                faults 'Failures on purpose, to test what your application does' \
                activity 'Show the requests and deliveries of the server as they happen' \
                snapshots 'Save the state of a local server, and return to it' \
                reset 'Reset the server to the state that it started with'
        case 'platform templates' 'platform template'
            printf '%s\t%s\n' \
                list 'List the templates of all applications, with issued vouchers and quota' \
                show 'Show a template of any application' \
                approve 'Approve a template under review' \
                reject 'Reject a template under review'
        case 'platform bots' 'platform bot'
            printf '%s\t%s\n' \
                list 'List the bots of all accounts' \
                approve 'Approve a bot: it becomes active' \
                reject 'Reject a bot; its owner may apply again' \
                disable 'Disable an approved bot' \
                enable 'Enable a disabled bot' \
                add-update 'Create a friend_request, inline_query or ping update for a bot'
        case 'platform apps' 'platform app'
            printf '%s\t%s\n' \
                list 'List the applications of all accounts' \
                suspend 'Suspend an application' \
                reinstate 'End the suspension of an application' \
                features 'Set the features of an application'
        case 'platform users' 'platform user'
            printf '%s\t%s\n' \
                start 'Start a chat with a bot as a user, or return the existing one' \
                send 'Send a message to the bot as the user of a chat' \
                block 'Block the bot as the user of a chat' \
                unblock 'Lift the block as the user of a chat'
        case 'platform chats' 'platform chat'
            printf '%s\t%s\n' \
                list 'List chats' \
                messages 'Read a chat as its user, oldest message first'
        case 'platform vouchers' 'platform voucher'
            printf '%s\t%s\n' \
                list 'List the vouchers of all applications' \
                show 'Show a voucher, by its id or that of a redemption, with its history'
        case 'platform deliveries' 'platform delivery'
            printf '%s\t%s\n' \
                list 'List the deliveries of all bots' \
                show 'Show a delivery with its signature, schedule and responses' \
                replay 'Send a delivery once more without changing its state'
        case 'platform clock'
            printf '%s\t%s\n' \
                show 'Read the test clock' \
                set 'Set the test clock; it only moves forward' \
                advance 'Advance the test clock' \
                forecast 'Count what happens if the test clock is advanced'
        case 'platform faults' 'platform fault'
            printf '%s\t%s\n' \
                list 'List faults, and the calls that they hold, oldest first' \
                add 'Inject a fault into calls of an endpoint, or into deliveries' \
                release 'Let held calls go on: one, or all' \
                remove 'Remove a fault' \
                clear 'Remove all faults'
        case 'platform snapshots' 'platform snapshot'
            printf '%s\t%s\n' \
                list 'List snapshots, oldest first' \
                save 'Save the state of the server; replaces a snapshot of the same name' \
                restore 'Return the server to a snapshot' \
                remove 'Remove a snapshot'
        case 'scenario' 'scenarios'
            printf '%s\t%s\n' \
                run 'Run the steps of YAML files and check their results' \
                init 'Write a scenario file to start from' \
                record 'Write what happens at a local server as a scenario'
        case 'mcp'
            printf '%s\t%s\n' \
                serve 'Serve tools to an MCP client on stdin and stdout' \
                install 'Print a client\'s configuration for `mcp serve`, or write it' \
                tools 'List the tools that `mcp serve` offers'
        case 'completion'
            printf '%s\t%s\n' \
                bash 'Print the script for bash' \
                zsh 'Print the script for zsh' \
                fish 'Print the script for fish' \
                powershell 'Print the script for PowerShell' \
                install 'Put the completion where the shell finds it' \
                uninstall 'Remove the completion that `install` added'
    end
end

function __voucherctl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l known (__voucherctl_commands $words[2..-1])
    for line in $known
        if test (string sub -l (string length -- "$current") -- $line) = "$current"
            printf '%s\n' $known
            return
        end
    end
    # Call the program by the typed path, if there is one.
    set -l program voucherctl
    if string match -q '*/*' -- $words[1]; and test -x $words[1]
        set program $words[1]
    end
    set -l answer (command $program __complete fish $words[2..-1] "$current" 2>/dev/null </dev/null)
    set -l before (string match -r '^--[^=]+=' -- "$current")
    set -l path (string replace -r '^--[^=]+=' '' -- "$current")
    switch "$answer[1]"
        case words
            printf '%s\n' $answer[2..-1]
        case files
            printf '%s\n' "$before"(__fish_complete_path "$path")
        case folders
            printf '%s\n' "$before"(__fish_complete_directories "$path" '')
    end
end

complete -c voucherctl -e
complete -c voucherctl -f -k -a '(__voucherctl_complete)'
