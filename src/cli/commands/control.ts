import type { Command } from 'commander'
import { type Exit, ofQueue, printsData } from './options.ts'

/** Commands that change what a running kubeherald sends. */
export function describeControl(program: Command, exit: Exit): void {
  describeSilences(program, exit)
  describeIncidents(program, exit)
}

function describeSilences(program: Command, exit: Exit): void {
  const group = program
    .command('silence')
    .description('suppress matching events for a time, without an edit of the configuration')
    .addHelpText('after', SILENCE_HELP)
  const load = () => import('../control/silence.ts')
  printsData(ofQueue(group.command('add')))
    .description('from now on, or from a time')
    .option('--match <conditions...>', 'as "when" of rules, and rule, sink: namespace=shop, rule=crash-*')
    .option('--all', 'without --match: suppress everything')
    .option('--for <time>', 'how long: 30m, 2h, 7d')
    .option('--until <time>', 'instead of --for: 2026-11-21T22:30:00Z')
    .option('--from <time>', 'when it begins, instead of now')
    .option('--reason <text>', 'why')
    .option('--by <name>', 'who, kept as cli:NAME; default: the user of this machine')
    .addHelpText('after', ADD_HELP)
    .action(async (options) => exit(await (await load()).add(options)))
  printsData(ofQueue(group.command('list')))
    .description('those in force and those to come')
    .option('--ended', 'also those that ended less than a day ago')
    .action(async (options) => exit(await (await load()).showSilences(options)))
  ofQueue(group.command('expire <id>'))
    .description('end one now')
    .action(async (id, options) => exit(await (await load()).expire(id, options)))
}

function describeIncidents(program: Command, exit: Exit): void {
  const group = program
    .command('incidents')
    .description('list or acknowledge open incidents of rules with resolve or for')
    .addHelpText('after', INCIDENTS_HELP)
  const load = () => import('../control/incidents.ts')
  printsData(ofQueue(group.command('list')))
    .description('the oldest first')
    .option('--rule <name>', 'only those of one rule')
    .action(async (options) => exit(await (await load()).showIncidents(options)))
  ofQueue(group.command('acknowledge <incident>'))
    .description('send nothing more of it until it ends')
    .option('--rule <name>', 'INCIDENT is an object, and the rule this one')
    .option('--reason <text>', 'why')
    .option('--by <name>', 'who, kept as cli:NAME; default: the user of this machine')
    .action(async (incident, options) => exit(await (await load()).acknowledge(incident, options)))
}

const SILENCE_HELP = `
Running processes apply a silence within seconds, to events that they observe from then on. What already waits for a sink or a digest is
still sent, and so are resolve notifications of what was sent before. The ledger counts silenced events as suppressed by "silence".

Examples:
  kubeherald silence add --match 'namespace=shop' --for 2h --reason deploy
  kubeherald silence list
  kubeherald silence expire 3f9a1c2b
`

const ADD_HELP = `
All conditions must hold: rule, sink, kind, namespace, name, labels, annotations, type, reason, message, regarding.kind,
regarding.namespace, regarding.name. Values are as in "when" of rules: exact, a glob, or /an expression/; a|b is a or b, key!=a is not a.

Examples:
  kubeherald silence add --match 'namespace=shop, rule=crash-*' --for 2h --reason deploy
  kubeherald silence add --match 'regarding.name=web-*|api-*, reason!=OOMKilling' --until 2026-11-21T22:30:00Z
  kubeherald silence add --match 'labels=team in (shop, pay)' --match sink=oncall --for 1d
`

const INCIDENTS_HELP = `
An incident is open from its first notification until its rule sends the resolve notification, or would. An acknowledged one sends
nothing but that, and a rule with the same conditions and a longer "for" does not escalate it: an acknowledgement ends with its incident.

Examples:
  kubeherald incidents list
  kubeherald incidents acknowledge --rule crash-loops pod/shop/web-1 --reason "I am on it"
`
