import type { Command } from 'commander'
import {
  CONTEXT,
  configurable,
  type Exit,
  ofQueue,
  printsData,
  wholeNumber,
  withoutPlugins,
} from './options.ts'

export function describeQueue(program: Command, exit: Exit): void {
  printsData(ofQueue(program.command('status')))
    .description('show watches, sinks and the ledger')
    .option('--verify', 'count the entries in the lanes instead of trusting the counters')
    .addHelpText('after', STATUS_HELP)
    .action(async (options) => exit(await (await import('../queue/status.ts')).status(options)))
  printsData(ofQueue(program.command('top')))
    .description('show rates of sinks, watches and rules, refreshed in place')
    .option('--interval <time>', 'from one refresh to the next, at least 1s', '2s')
    .option('--count <n>', 'ends after so many refreshes', wholeNumber)
    .addHelpText('after', TOP_HELP)
    .action(async (options) => exit(await (await import('../top/top.ts')).top(options)))
  describeDeadLetters(program, exit)
  printsData(ofQueue(program.command('history [object]')))
    .description('show what became of deliveries, and what limits suppressed')
    .option('--since <time>', 'since then: 30m, 24h')
    .option('--rule <name>', 'what this rule sent')
    .option('--sink <name>', 'what this sink got')
    .option('--limit <n>', 'how many', wholeNumber, 50)
    .addHelpText('after', HISTORY_HELP)
    .action(async (object, options) =>
      exit(await (await import('../queue/history.ts')).history(object, options)),
    )
  printsData(withoutPlugins(ofQueue(program.command('replay'))))
    .description('send events again that a sink got before, or the present state')
    .requiredOption('--sink <name>', 'to this sink')
    .option('--since <time>', 'what happened since then: 30m, 2h, or 2026-11-26T08:00:00Z')
    .option('--until <time>', 'and before; default: now')
    .option('--snapshot', 'instead of events the present state of each watched object')
    .option('--kind <kind>', 'with --snapshot: only of these kinds')
    .option('--rule <name>', 'only what this rule sent')
    .option('--dry-run', 'show how many, and send nothing')
    .addHelpText('after', REPLAY_HELP)
    .action(async (options) => exit(await (await import('../replay/replay.ts')).replay(options)))
  printsData(configurable(program.command('kinds')))
    .description('list the kinds of the cluster that can be watched')
    .option('--count', 'also the number of objects: one small request for each kind')
    .option(...CONTEXT)
    .addHelpText('after', KINDS_HELP)
    .action(async (options) => exit(await (await import('../kinds/kinds.ts')).kinds(options)))
}

function describeDeadLetters(program: Command, exit: Exit): void {
  const group = program
    .command('dead-letters')
    .description('list, show, retry or drop deliveries that were given up')
    .addHelpText('after', DEAD_LETTERS_HELP)
  const load = () => import('../queue/dead-letters.ts')
  printsData(filtered(ofQueue(group.command('list'))))
    .description('newest first')
    .option('--group', 'how many of each sink and reason, instead of each of them')
    .option('--limit <n>', 'how many', wholeNumber, 50)
    .action(async (options) => exit(await (await load()).list(options)))
  printsData(ofQueue(group.command('show <id>')))
    .description('the reason, the event and the object')
    .action(async (id, options) => exit(await (await load()).show(id, options)))
  filtered(ofQueue(group.command('retry [ids...]')))
    .description('put them back into their lanes')
    .option('--all', 'all of them')
    .action(async (ids, options) => exit(await (await load()).retry(ids, options)))
  filtered(ofQueue(group.command('drop [ids...]')))
    .description('delete them for good; the ledger remembers how many')
    .option('--all', 'all of them')
    .action(async (ids, options) => exit(await (await load()).drop(ids, options)))
}

/** Each option narrows the choice. */
function filtered(command: Command): Command {
  return command
    .option('--sink <name>', 'those of this sink')
    .option('--reason <reason>', 'those with this reason, such as rejected, expired, queue-full')
    .option('--rule <name>', 'those that this rule sent')
}

const STATUS_HELP = `
It reads Redis alone, so that it works while nothing runs. Each change that was observed is counted once: as unmatched, dropped,
matched, or limited (suppressed, or waiting). Of a rule, matched = sent + digested + waiting + suppressed.

Examples:
  kubeherald status --config prod.yaml
  kubeherald status -o json | jq .ledger.rules         how often each rule matched, sent, and was suppressed
  kubeherald status --verify                           does the ledger agree with the entries in the lanes?
`

const TOP_HELP = `
The rates are those of the ledger since the refresh before. q or Ctrl-C ends it. In a pipe it prints one table, or with -o json one line, for
each refresh.

Examples:
  kubeherald top --config prod.yaml
  kubeherald top --interval 10s
  kubeherald top --count 2 -o json | tail -1 | jq '.sinks[] | {sink, deliveredPerSecond, pending}'
`

const DEAD_LETTERS_HELP = `
Examples:
  kubeherald dead-letters list --group                 how many of each sink and reason
  kubeherald dead-letters list --sink oncall --reason rejected
  kubeherald dead-letters show 1763712000000-0
  kubeherald dead-letters retry --sink oncall          all of the sink, the oldest first
  kubeherald dead-letters drop --sink oncall --reason rejected --rule crash-loops
`

const HISTORY_HELP = `
The newest first. OBJECT is kind/namespace/name or kind/name, the uid of an object, or the id of an event; Events are found by the
object that they are about. It reads Redis alone. "history" of the configuration limits how much is kept: by default 7 days and 16 MB.

Examples:
  kubeherald history                                   the last 50
  kubeherald history deploy/shop/web                   who was notified of it, when, and what was suppressed
  kubeherald history --sink oncall --since 24h -o json | jq 'select(.outcome == "dead")'
`

const REPLAY_HELP = `
With --since it needs a journal, which has the events, and the history, which knows what was delivered. Each event keeps its id and is marked "replayed". It
goes to the end of its lane: those of an object stay in order, and may arrive after newer ones. The replay waits while others wait for the sink.
After Ctrl-C nothing is lost: it shows the command that goes on to the same end, and repeats the last minute. Digests and resolve notifications are not sent again.

Examples:
  kubeherald replay --sink bus --since 2h --dry-run    how many events of which rules
  kubeherald replay --sink bus --since 2h
  kubeherald replay --sink bus --since 2026-11-26T08:00:00Z --until 2026-11-26T09:30:00Z --rule audit
  kubeherald replay --sink bus --snapshot --kind Deployment   completes a compacted topic
`

const KINDS_HELP = `
NAME is what "watch" takes in any case; the kind and the short names will do where they are unique. It shows the version that
the API server prefers, which kubeherald watches. With --count, "forbidden" is a kind that you may not list.

Examples:
  kubeherald kinds
  kubeherald kinds --count -o json | jq 'map(select(.objects > 1000))'
`
