import type { Command } from 'commander'
import { configurable, type Exit, withoutPlugins } from '../options.ts'

/** check. */
export function describeCheck(program: Command, exit: Exit): void {
  withoutPlugins(configurable(program.command('check')))
    .description(
      'say everything that is wrong with the configuration, what it would watch, and which rights are missing',
    )
    .option('--context <name>', 'context of the kubeconfig')
    .option('--offline', 'ask neither cluster, Redis nor sinks, and do without secrets that are not here')
    .option('--strict', 'warnings are failures: exit code 1')
    .option('--json', 'as JSON: problems with their places, and what would be watched')
    .addHelpText('after', CHECK_HELP)
    .action(async (options) => exit(await (await import('./check.ts')).check(options)))
}

const CHECK_HELP = `
Exit codes: 0 good, perhaps with warnings; 1 with --strict when there are warnings, or when the cluster cannot be asked;
2 when the configuration or an argument is wrong, or the cluster refuses what it needs.

Examples:
  kubeherald check --offline --strict                 in CI
  kubeherald check --json | jq '.problems[]'          for other programs
`
