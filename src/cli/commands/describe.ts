import type { Command } from 'commander'
import { describeConfiguration } from './configuration.ts'
import { describeControl } from './control.ts'
import { describeDryRun } from './dry-run.ts'
import type { Exit } from './options.ts'
import { describeQueue } from './queue.ts'
import { describeRun } from './run.ts'
import { describeShell } from './shell.ts'

/** Adds all commands in the order of `--help`. Each loads its code when it runs. */
export function describeCommands(program: Command, exit: Exit): void {
  program.commandsGroup('Forwarding:')
  describeRun(program, exit)
  program.commandsGroup('Configuration:')
  describeConfiguration(program, exit)
  program.commandsGroup('Trying rules and sinks:')
  describeDryRun(program, exit)
  program.commandsGroup('State:')
  describeQueue(program, exit)
  describeControl(program, exit)
  program.commandsGroup('Program:')
  describeShell(program, exit)
}
