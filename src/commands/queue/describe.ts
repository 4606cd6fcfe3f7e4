import type { Command } from 'commander'
import { type Exit, ofQueue, wholeNumber } from '../options.ts'

/** status and dead-letters. */
export function describeQueue(program: Command, exit: Exit): void {
  ofQueue(program.command('status'))
    .description('show watches, sinks and the ledger')
    .option('--json', 'as JSON')
    .option('--verify', 'count what really lies in the lanes instead of trusting the counters')
    .addHelpText('after', STATUS_HELP)
    .action(async (options) => exit(await (await import('./status.ts')).status(options)))
  describeDeadLetters(program, exit)
}

function describeDeadLetters(program: Command, exit: Exit): void {
  const group = program
    .command('dead-letters')
    .description('look at, send again or drop what a sink refused')
    .addHelpText('after', DEAD_LETTERS_HELP)
  const load = () => import('./dead-letters.ts')
  ofQueue(group.command('list'))
    .description('newest first')
    .option('--sink <name>', 'only those of one sink')
    .option('--limit <n>', 'how many', wholeNumber, 50)
    .option('--json', 'as JSON, one a line')
    .action(async (options) => exit(await (await load()).list(options)))
  ofQueue(group.command('show <id>'))
    .description('the reason, the event and the object')
    .option('--json', 'as JSON')
    .action(async (id, options) => exit(await (await load()).show(id, options)))
  ofQueue(group.command('retry [ids...]'))
    .description('put them back into their lanes')
    .option('--all', 'all of them')
    .option('--sink <name>', 'with --all: only those of one sink')
    .action(async (ids, options) => exit(await (await load()).retry(ids, options)))
  ofQueue(group.command('drop [ids...]'))
    .description('delete them for good; the ledger remembers how many')
    .option('--all', 'all of them')
    .option('--sink <name>', 'with --all: only those of one sink')
    .action(async (ids, options) => exit(await (await load()).drop(ids, options)))
}

const STATUS_HELP = `
It reads Redis alone, so that it works while nothing runs. Each change that was observed is counted once: as unmatched, dropped,
matched, or limited (held back, or waiting). Of a rule, matched = sent + digested + waiting + suppressed.

Examples:
  kubeherald status --config prod.yaml
  kubeherald status --json | jq .ledger.rules          how often each rule matched, sent, and was held back
  kubeherald status --verify                           after a doubt: does the ledger agree with what lies in the lanes?
`

const DEAD_LETTERS_HELP = `
Examples:
  kubeherald dead-letters list --sink oncall
  kubeherald dead-letters show 1763712000000-0
  kubeherald dead-letters retry --all --sink oncall
`
