import { type Command, InvalidArgumentError, Option } from 'commander'
import type { OutputOptions } from '../output/format.ts'

/** Receives the exit code of a command. */
export type Exit = (code: number) => void

export const CONTEXT = ['--context <name>', 'context of the kubeconfig'] as const

/** Options of all commands, before or after their names. */
export function addGlobalOptions(program: Command): Command {
  return program
    .option('--no-color', 'no colours; also $NO_COLOR. They are shown on a terminal only')
    .option('-q, --quiet', 'no notes, hints and progress on stderr; errors and warnings remain')
}

const OUTPUT_FORMATS: readonly OutputOptions['output'][] = ['table', 'json', 'yaml']

/** Adds `-o`, and `--json` as its short form. */
export function printsData(command: Command): Command {
  return command
    .addOption(
      new Option('-o, --output <format>', 'readable text, or the same data for programs')
        .choices(OUTPUT_FORMATS)
        .default('table'),
    )
    .addOption(new Option('--json', 'short for -o json').conflicts('output'))
    .hook('preAction', (_, called) => {
      if (called.opts()['json']) called.setOptionValue('output', 'json')
    })
}

export function configurable(command: Command): Command {
  return command.option(
    '-c, --config <file>',
    'default: $KUBEHERALD_CONFIG, else ./kubeherald.yaml; "-" is standard input',
  )
}

export function withoutPlugins(command: Command): Command {
  return command.option(
    '--no-plugins',
    'refuse a configuration with plugins:, which are code; also $KUBEHERALD_NO_PLUGINS=1',
  )
}

export function stateful(command: Command): Command {
  return command.option(
    '--state-dir <dir>',
    'where the private Redis keeps its data; default: $XDG_STATE_HOME/kubeherald',
  )
}

/** Options of commands that read what `run` has stored. */
export function ofQueue(command: Command): Command {
  return stateful(configurable(command))
    .option('--context <name>', 'as given to run; not needed when the configuration has cluster:')
    .option('--demo', 'of the demo that runs')
}

/** From 1. */
export function wholeNumber(text: string): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('Give a whole number from 1.')
  return value
}
